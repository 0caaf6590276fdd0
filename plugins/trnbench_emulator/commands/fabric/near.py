"""The nearest published evidence beside answers of the fabric, and what to expect by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trnbench.cli.output import Column
from trnbench.results.expectation import above
from trnbench.results.nearness import Nearest, Nearness
from trnbench_emulator.question import CollectiveQuestion

if TYPE_CHECKING:
    from trnbench.cli.context import Session
    from trnbench.results.measurement import Metric
    from trnbench_emulator.fabric.systems import Fabric

MESSAGES = ("permute", "sendrecv")
"""What publications measure as one rank sending to another."""

UNASKED = "nothing is published of degraded links, stragglers, uneven parts or groups at once"


class Near:
    """Asked once for each answer on one system. `alone`: one collective, on links as they are."""

    def __init__(self, state: Session, fabric: Fabric, *, alone: bool = True) -> None:
        from trnbench.expectation import expectations
        from trnbench_emulator.backend import MODEL_VERSION

        options = fabric.options
        self._version, self._fabric = MODEL_VERSION, fabric
        self._alone = alone and not (
            options.degraded or options.straggler or options.late or options.oversubscription != 1
        )
        self._expected = expectations(state.registry, {fabric.system.name: fabric.system})

    def of(self, collective: str, size: float, ranks: int, *, hosts: int = 0, busbw: float = 0.0) -> Nearest:
        """Of `ranks` on `hosts` (0: as many as those ranks fill); with `busbw` the best published."""
        fabric = self._fabric
        system = fabric.system
        if not self._alone:
            return Nearest(kind=Nearness.NONE, note=UNASKED)
        per_host = max(fabric.size // system.hosts, 1)
        question = CollectiveQuestion(
            collective=collective,
            size=size,
            ranks=ranks,
            cores_per_rank=system.cores_per_device // fabric.ranks_per_device,
            nodes=hosts or -(-ranks // per_host),
            context=fabric.options.context,
            point_to_point=collective in MESSAGES,
        )
        metric = _busbw(busbw) if busbw else None
        return self._expected.nearest(question, system, version=self._version, metric=metric)


def cells(nearest: Nearest, time_s: float) -> dict[str, Any]:
    """Class, least and most seconds to expect, the best published and why there is no band: for one row."""
    times = nearest.band.times(time_s) if nearest.band is not None else (None, None)
    best = nearest.best
    return {
        "nearness": str(nearest.kind),
        "expected_low_s": times[0],
        "expected_high_s": times[1],
        "best_published_gb_s": best.value / 1e9 if best is not None else None,
        "best_published_id": best.id if best is not None else None,
    }


def columns() -> list[Column]:
    """Of a table for people: the class, and the times to expect."""
    from trnbench.facts.format import show

    def time(value: float) -> str:
        return show(value, "s")

    return [
        Column("nearness", "near"),
        Column("expected_low_s", "expect", "right", time),
        Column("expected_high_s", "to", "right", time),
    ]


def notes(found: list[Nearest], busbw: list[float]) -> list[str]:
    """What the classes of a sweep mean: each reason for having no band, and what lies above all published."""
    said = [f"{each.kind}: {each.note}" for each in found if each.note]
    said += [
        text
        for each, value in zip(found, busbw, strict=True)
        if value and (text := above(value, _busbw(value), each.best))
    ]
    return list(dict.fromkeys(said))[:4]


def _busbw(value: float) -> Metric:
    from trnbench.facts.scope import Scope
    from trnbench.results.measurement import Metric

    return Metric(name="busbw_bytes_per_s", value=value, unit="B/s", better="higher", scope=Scope.DEVICE)
