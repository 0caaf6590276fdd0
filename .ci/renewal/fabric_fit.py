"""Fits the constants of `[fabric]` to published collectives, one constant on few points at a time.

Every constant has one physical meaning and the points that show it most: shares of rates from large
messages, starts from small ones. All-reduce on Trainium2 is left out of the fit altogether: it is
predicted from what all-gather and reduce-scatter taught. The least sum of |ln(model / published)| over a
grid is taken, so that a single odd point pulls little; rounds repeat until nothing moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

import msgspec

from trnbench.generation import System
from trnbench.kernels.work import busbw_factor
from trnbench_emulator.fabric.ask import ask, published_question
from trnbench_emulator.fabric.question import Question

ROUNDS = 6
STARTS = ("gather_start_us", "reduce_start_us")
Known = dict[tuple[object, ...], float]


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """A point as `published_question` takes it; `time_s` or, else, `busbw` in bytes/s."""

    id: str
    system: str
    operation: str
    size: float
    ranks: int
    nodes: int = 1
    lnc: int = 0
    time_s: float = 0.0
    busbw: float = 0.0


class Constant(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `[fabric]`: the grid it is searched on and the points that decide."""

    key: str
    low: float
    high: float
    step: float
    points: tuple[str, ...]

    def grid(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [round(self.low + i * self.step, 9) for i in range(count + 1)]


class Fitted(msgspec.Struct, frozen=True, kw_only=True):
    """`held_out[id]`: what the constant would be, had that point not been published."""

    value: float
    held_out: dict[str, float]


def _ids(stem: str, *sizes: object) -> tuple[str, ...]:
    return tuple(f"{stem}-{size}" for size in sizes)


PLAN: dict[str, tuple[Constant, ...]] = {
    "trn1": (
        Constant(
            key="stream_bytes_per_ns",
            low=40,
            high=80,
            step=1,
            points=_ids("t1-nccom-ar2", 16777216, 67108864),
        ),
        Constant(
            key="gather_start_us",
            low=0,
            high=30,
            step=1,
            points=(*_ids("t1-nccom-ag32", 1024, 65536), "t1-p2p-permute"),
        ),
        Constant(key="step_us", low=0, high=4, step=0.1, points=_ids("t1-nccom-ag32", 1024, 65536)),
        Constant(key="reduce_start_us", low=0, high=60, step=1, points=_ids("t1-nccom-ar2", 262144, 1048576)),
        Constant(
            key="efa_efficiency",
            low=0.4,
            high=0.7,
            step=0.01,
            points=_ids("t1-nccom-ar64", 134217728, 268435456, 536870912, 1073741824),
        ),
        Constant(
            key="network_in_flight",
            low=1,
            high=4,
            step=0.1,
            points=_ids("t1-nccom-ar64", 65536, 1048576, 4194304, 8388608, 33554432),
        ),
    ),
    "trn2": (
        Constant(
            key="hbm_efficiency",
            low=0.7,
            high=0.95,
            step=0.01,
            points=(
                *_ids("t2-nccom-allgather-fp32", "128M", "256M", "512M", "1024M"),
                *_ids("t2-nccom-allgather-bf16", "128M", "256M", "1024M"),
                *_ids("t2-nccom-reducescatter-fp32", "256M", "512M", "1024M", "2048M"),
                *_ids("t2-nccom-reducescatter-bf16", "2048M"),
            ),
        ),
        Constant(
            key="gather_start_us",
            low=0,
            high=20,
            step=0.5,
            points=(
                *_ids("t2-nccom-allgather-fp32", "1M", "2M", "4M"),
                *_ids("t2-nccom-allgather-bf16", "2M", "4M", "32M"),
            ),
        ),
        Constant(
            key="reduce_start_us",
            low=0,
            high=40,
            step=0.5,
            points=(
                *_ids("t2-nccom-reducescatter-fp32", "1M", "2M", "4M", "8M", "16M"),
                *_ids("t2-nccom-reducescatter-bf16", "2M", "8M", "16M", "32M"),
            ),
        ),
        Constant(
            key="stream_bytes_per_ns",
            low=70,
            high=150,
            step=1,
            points=("t2-sendrecv-xdie-268435456", "t2-ar8-peak"),
        ),
    ),
}


def fit(
    generation: str,
    points: Mapping[str, Published],
    systems: Mapping[str, System],
    start: Mapping[str, float] | None = None,
) -> dict[str, Fitted]:
    """The constants of a generation by key. `systems` by the names that points use.

    The first round begins at `start`, or in the middle of every grid; where `start` is what the points give,
    it is the only one. Raises KeyError for a point of the plan that is not there.
    """
    plan = PLAN[generation]
    middles = {constant.key: constant.grid()[len(constant.grid()) // 2] for constant in plan}
    values = {**middles, **(start or {})}
    tables: dict[str, dict[str, list[float]]] = {}
    cache: Known = {}
    for _ in range(ROUNDS):
        before = dict(values)
        for constant in plan:
            tables[constant.key] = _errors(constant, values, points, systems, cache)
            values[constant.key] = _least(constant, tables[constant.key], constant.points)
        if values == before:
            break
    return {
        constant.key: Fitted(
            value=values[constant.key],
            held_out={
                left: _least(constant, tables[constant.key], [p for p in constant.points if p != left])
                for left in constant.points
                if len(constant.points) > 1
            },
        )
        for constant in plan
    }


def _least(constant: Constant, errors: Mapping[str, Sequence[float]], ids: Sequence[str]) -> float:
    grid = constant.grid()
    sums = [sum(errors[point][i] for point in ids) for i in range(len(grid))]
    return grid[sums.index(min(sums))]


def _errors(
    constant: Constant,
    values: Mapping[str, float],
    points: Mapping[str, Published],
    systems: Mapping[str, System],
    known: Known,
) -> dict[str, list[float]]:
    errors: dict[str, list[float]] = {name: [] for name in constant.points}
    for value in constant.grid():
        chosen = {**values, constant.key: value}
        changed: dict[str, System] = {}
        for point in constant.points:
            # Starts are added up, so links need not be looked at again for another start.
            key = point, *(v for k, v in chosen.items() if k not in STARTS)
            if key not in known:
                known[key] = _seconds(
                    points[point], systems, {**chosen, **dict.fromkeys(STARTS, 0.0)}, changed
                )
            operation = points[point].operation
            start = chosen.get(STARTS[0], 0.0) * (operation != "reduce_scatter")
            start += chosen.get(STARTS[1], 0.0) * (operation in ("all_reduce", "reduce_scatter"))
            errors[point].append(abs(off(points[point], known[key] + start * 1e-6)))
    return errors


def deviation(point: Published, systems: Mapping[str, System]) -> float:
    """ln(model / published) of the time, with the constants of the cost tables."""
    return off(point, _seconds(point, systems, None, {}))


def off(point: Published, seconds: float) -> float:
    """ln(model / published), by a time of the model or the bandwidth that follows."""
    if point.time_s:
        return log(seconds / point.time_s)
    return log(point.busbw / (point.size / seconds * busbw_factor(point.operation, point.ranks)))


def _seconds(
    point: Published,
    systems: Mapping[str, System],
    values: Mapping[str, float] | None,
    changed: dict[str, System],
) -> float:
    """`values` replace rows of `[fabric]`; `changed` keeps the systems that have them, by name."""
    system = systems[point.system]
    if values is not None:
        if point.system not in changed:
            table = {**system.costs.get("fabric", {}), **{k: {"value": v} for k, v in values.items()}}
            changed[point.system] = msgspec.structs.replace(system, costs={**system.costs, "fabric": table})
        system = changed[point.system]
    return ask(question_of(point, system)).time_s


def question_of(point: Published, system: System) -> Question:
    """What `point` measured. Raises UsageError where its ranks do not fit."""
    return published_question(
        system, point.operation, point.size, point.ranks, nodes=point.nodes, lnc=point.lnc
    )
