"""Engines: how long each was active in published profiles, and in the model's schedule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from trnbench.facts.units import show
from trnbench.results.expectation import signed_text, size_text
from trnbench.results.fidelity import Comparison, EngineTime, Errors
from trnbench_fidelity.point import ENGINES, PublishedPoint, Quantity
from trnbench_fidelity.statistics import FEWEST, of_votes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from trnbench_emulator.core.costs import CostTable
    from trnbench_emulator.core.timing import Timing
    from trnbench_fidelity.published_points import Published

BUSY = 0.1
"""Engines that are active for a smaller share of the time are listed, not counted."""


def active_s(timing: Timing, table: CostTable) -> dict[str, float]:
    """Seconds in which an engine of the last program has at least one instruction under way.

    As profiles draw them: from its start to its end; of DMA, while at least one packet is transferred
    (`dma_active_time`: ne-schema), that is from a transfer's first byte on.
    """
    import numpy as np

    from trnbench_emulator import seconds
    from trnbench_emulator.core.pace import NOTHING_REMOVED, Pace
    from trnbench_emulator.core.program import GPSIMD, GPSIMD_RING, LOAD, QUEUES

    schedule = timing.schedule
    program, pace = schedule.program, Pace(table)
    kind = np.frombuffer(program.op, np.uint32)
    start, issued, end = (
        np.frombuffer(ticks, np.int64) for ticks in (schedule.start, schedule.issued, schedule.end)
    )
    before = np.array([pace.step(op, NOTHING_REMOVED).latency for op in program.ops], np.int64)[kind]
    queues = schedule.queues()
    first = np.where(queues >= LOAD, start + before, start)

    def union(mine: npt.NDArray[np.bool_], until: npt.NDArray[np.int64]) -> int:
        order = np.argsort(first[mine], kind="stable")
        begun, done = first[mine][order], np.maximum.accumulate(until[mine][order])
        return (
            int((done - np.maximum(begun, np.concatenate((begun[:1], done[:-1])))).sum()) if len(begun) else 0
        )

    found = {name: union(queues == queue, end) for queue, name in enumerate(QUEUES[:LOAD])}
    triggers = queues == GPSIMD_RING
    found[QUEUES[GPSIMD]] += int((issued - start)[triggers].sum())
    found["dma"] = union(queues >= LOAD, end)
    return {name: seconds(ticks) for name, ticks in found.items() if ticks}


def engine_times(published: Published, rows: Mapping[str, Comparison]) -> tuple[EngineTime, ...]:
    """Of every profile whose kernel the model has run, in the order of the points."""
    times = []
    for points in published.values():
        by_id = {point.id: point for point in points}
        for id, engine, seconds in _published(points, by_id):
            row, value = rows.get(id), by_id[id].value
            if row is None or not row.active or not value:
                continue
            times.append(
                EngineTime(
                    id=id,
                    generation=row.generation,
                    vote=row.vote,
                    engine=engine,
                    share=seconds / value,
                    published=seconds,
                    model=row.active.get(engine, 0.0),
                )
            )
    return tuple(times)


def _published(
    points: Iterable[PublishedPoint], by_id: Mapping[str, PublishedPoint]
) -> Iterator[tuple[str, str, float]]:
    """Point, engine, seconds: of parts that are points of their own, and of `extra`."""
    for point in points:
        if point.engine and point.value:
            whole = by_id[point.of].value or 0.0
            yield point.of, point.engine, point.value * (whole if point.quantity is Quantity.SHARE else 1)
        if point.quantity is not Quantity.LATENCY or not point.value:
            continue
        for engine in ENGINES:
            microseconds = point.extra.get(f"{engine}_active_us")
            share = point.extra.get(f"{engine}_active")
            if isinstance(microseconds, int | float):
                yield point.id, engine, microseconds * 1e-6
            elif isinstance(share, int | float) and share:
                yield point.id, engine, share * point.value


HEADS = ("point", "engine", "of the time", "published", "model", "error")


def engine_cells(each: EngineTime) -> tuple[str, ...]:
    """One row under `HEADS`."""
    times = (show(seconds, "s") for seconds in (each.published, each.model))
    return (each.id, each.engine, f"{100 * each.share:.0f} %", *times, signed_text(each.e))


def engine_errors(times: Iterable[EngineTime]) -> Errors | None:
    """Of engines that are active for more than a tenth of the time.

    One vote for each engine of a kernel, and a 90th percentile from five kernels on.
    """
    counted = [time for time in times if time.share > BUSY]
    found = of_votes((f"{each.vote} / {each.engine}", f"{each.id} {each.engine}", each.e) for each in counted)
    if found is None or len({each.vote for each in counted}) >= FEWEST:
        return found
    return replace(found, p90=None, p90_span=None)


def engines_text(times: Iterable[EngineTime]) -> str:
    """`Engines of profiled kernels, …: 26 of 12 kernels, 101 figures, 18 % off in the median, …`"""
    all_ = list(times)
    errors = engine_errors(all_)
    if errors is None:
        return ""
    counted = [each for each in all_ if each.share > BUSY]
    kernels = len({each.vote for each in counted})
    text = (
        f"Engines that a profile shows active for more than {100 * BUSY:.0f} % of the time: {errors.votes} "
        f"of {kernels} kernels, {errors.points} figures, {size_text(errors.median)} off in the median"
    )
    if errors.p90 is not None:
        text += f", {size_text(errors.p90)} at the 90th percentile"
    worst = max(counted, key=lambda each: (abs(each.e), each.id))
    text += f", the worst {signed_text(worst.e)} ({worst.id}, {worst.engine})"
    rest = len(all_) - len(counted)
    return text + (f"; {rest} less active are listed, not counted." if rest else ".")


def by_error(times: Iterable[EngineTime]) -> list[EngineTime]:
    """The worst first; those that are not counted last."""
    return sorted(times, key=lambda each: (each.share <= BUSY, -abs(each.e), each.id))
