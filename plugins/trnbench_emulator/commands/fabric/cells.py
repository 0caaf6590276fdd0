"""How the figures of the fabric are shown, and what stands above every table of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from trnbench.facts.fact import Scope
from trnbench.facts.units import show
from trnbench.results.expectation import above
from trnbench.results.measurement import Metric, Nearest, Nearness
from trnbench.run.expectation import expectations
from trnbench.terminal.cell import Column
from trnbench.terminal.output import say
from trnbench_emulator.backend import MODEL_VERSION, CollectiveQuestion
from trnbench_emulator.commands.fabric.options import about

if TYPE_CHECKING:
    from trnbench import Session
    from trnbench_emulator.fabric.systems import Fabric


EVIDENCE = "emulated"
"""The grade of whatever these commands print."""


def say_about(fabric: Fabric) -> None:
    """What an answer holds for, to stderr."""
    for line in about(fabric):
        say(line, level=0)


_seconds = partial(show, unit="s")

TIME = Column("time_s", "time", "right", _seconds)
"""With the prefix that suits it."""


def one_place(value: float) -> str:
    """1,234.5"""
    return f"{value:,.1f}"


def two_places(value: float) -> str:
    """1,234.56"""
    return f"{value:,.2f}"


MESSAGES = ("permute", "sendrecv")
"""What publications measure as one rank sending to another."""

UNASKED = "nothing is published of degraded links, stragglers, uneven parts or groups at once"


class Near:
    """Asked once for each answer on one system. `alone`: one collective, on links as they are."""

    def __init__(self, state: Session, fabric: Fabric, *, alone: bool = True) -> None:
        options = fabric.options
        self._fabric = fabric
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
        return self._expected.nearest(question, system, version=MODEL_VERSION, metric=metric)


def near_cells(
    nearest: Nearest, time_s: float, range_s: tuple[float, float] | None = None, least_s: float = 0.0
) -> dict[str, Any]:
    """Class, least and most seconds to expect, the best published and why there is no band: for one row.

    A band is no narrower than `range_s`, what the ranges behind the number do to it. It begins at `least_s`,
    which documented links allow, and ends where a published inequality does. Where only that bounds the
    number, there is no least.
    """
    low, high = nearest.band.times(time_s) if nearest.band is not None else (None, None)
    if low is not None and high is not None and range_s is not None:
        low, high = min(low, range_s[0]), max(high, range_s[1])
    if low is not None:
        low = max(low, min(least_s, time_s))
    if nearest.limit is not None:
        high = min(high or nearest.limit.time_s, nearest.limit.time_s)
    best = nearest.best
    return {
        "nearness": str(nearest.kind),
        "expected_low_s": low,
        "expected_high_s": high,
        "best_published_gb_s": best.value / 1e9 if best is not None else None,
        "best_published_at": best.at if best is not None else "",
        "best_published_id": best.id if best is not None else None,
    }


NEAR = (
    Column("nearness", "near"),
    Column("expected_low_s", "expect", "right", _seconds),
    Column("expected_high_s", "to", "right", _seconds),
)
"""Of a table for people: the class, and the times to expect."""


def notes(found: list[Nearest], busbw: list[float]) -> list[str]:
    """What the classes of a sweep mean: each reason for having no band, inequalities, and what lies above all
    published."""
    said = [f"{each.kind}: {each.note}" for each in found if each.note]
    limits = list(dict.fromkeys(each.limit for each in found if each.limit is not None))
    if limits:
        bounds = "; ".join(f"{show(limit.time_s, 's')} ({limit.id})" for limit in limits)
        said.append(f"at most, by what published decoding leaves each: {bounds}")
    said += [
        text
        for each, value in zip(found, busbw, strict=True)
        if value and (text := above(value, _busbw(value), each.best))
    ]
    return list(dict.fromkeys(said))[:4]


def _busbw(value: float) -> Metric:
    return Metric(name="busbw_bytes_per_s", value=value, unit="B/s", better="higher", scope=Scope.DEVICE)
