"""What is not the same of two runs besides their cases: machine, versions, settings, conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from trnbench.facts.format import percent, show
from trnbench.results.measurement import Measurement
from trnbench.results.process_samples import Conditions
from trnbench.results.run import Run
from trnbench.results.statistics import median
from trnbench.run.sameness import differences

_ASKED = ("selection", "tags", "jobs", "argv", "store", "isolate", "keep_identity", "maxfail", "timeout_s")
"""Settings that say which cases were carried out, and how many at once; no number follows from them."""
_CLOCK = 0.02
"""A clock that differs by more is told; it varies by less from moment to moment."""
_SHARE = 0.05
"""So is a share of processor time that somebody else had."""


def surroundings(before: Run, after: Run) -> tuple[str, ...]:
    """In a line each; facts, costs and sources are told with the cases that they change."""
    return (*differences(_bare(before), _bare(after)), *_conditions(before.measurements, after.measurements))


def _bare(run: Run) -> Run:
    settings = {name: value for name, value in run.settings.items() if name not in _ASKED}
    return msgspec.structs.replace(
        run, settings=settings, systems={}, books={}, topologies={}, fidelity=None, measurements=()
    )


def conditions_changed(before: Measurement, after: Measurement) -> tuple[str, ...]:
    """Of one measured case: what its processes met that those of the other run did not."""
    return tuple(_conditions((before,), (after,)))


def _conditions(before: Iterable[Measurement], after: Iterable[Measurement]) -> Iterator[str]:
    old, new = (
        [each.conditions for one in side for each in one.processes if each.conditions is not None]
        for side in (before, after)
    )
    clocks = [[value for each in side for value in each.clock_hz] for side in (old, new)]
    if all(clocks):
        was, now = (median(side) for side in clocks)
        if was > 0 and abs(now / was - 1.0) > _CLOCK:
            yield f"clock of the processor was {show(was, 'Hz')}, is {show(now, 'Hz')}"
    for name, said in (
        ("others", "that others had the processor"),
        ("pressure", "waiting for a processor"),
        ("stolen", "taken by other virtual machines"),
    ):
        shares = [_shares(side, name) for side in (old, new)]
        if all(shares):
            was, now = (median(side) for side in shares)
            if abs(now - was) > _SHARE:
                yield f"share of time {said} was {percent(was)}, is {percent(now)}"


def _shares(conditions: Iterable[Conditions], name: str) -> list[float]:
    return [value for each in conditions if (value := getattr(each, name)) is not None]
