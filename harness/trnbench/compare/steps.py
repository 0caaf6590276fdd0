"""Steps of a history explained: the two runs of each are compared, for one name and one cause everywhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TypeAlias

from msgspec.structs import replace

from trnbench.case_key import joint
from trnbench.compare.change import Change, Refused
from trnbench.compare.comparison import compared
from trnbench.compare.pairs import paired
from trnbench.errors import TrnbenchError
from trnbench.results.history import LEAST, CaseHistory, HistoryPoint, HistoryStep, steps_in_order
from trnbench.results.measurement import Grade, Verdict
from trnbench.results.run import Run
from trnbench.store.store import Store

MOST = 16
"""Pairs of runs that are opened, the newest; steps of older ones keep the name that their values give."""

Known: TypeAlias = dict[str, Change | Refused]
"""What the comparison of two runs says of each case."""

_BY_VALUE = (Verdict.FASTER, Verdict.SLOWER)


def explained(store: Store, series: Sequence[CaseHistory]) -> tuple[CaseHistory, ...]:
    """The series with the verdicts and causes of `compare`.

    Measured series too short for levels have the steps that `compare` sees between neighbours.
    """
    pairs = {(step.last.run, step.first.run): step.first.created for each in series for step in each.steps}
    pairs |= {(old.run, new.run): new.created for each in series for old, new in _short(each)}
    newest = sorted(pairs, key=lambda pair: pairs[pair], reverse=True)[:MOST]
    load = cache(store.load)
    known = {pair: _changes(load, *pair) for pair in newest}
    return tuple(_explained(each, known) for each in series)


def _short(each: CaseHistory) -> Iterator[tuple[HistoryPoint, HistoryPoint]]:
    """Neighbours of a series that has fewer values than levels take."""
    counted = [point for point in each.points if point.counts]
    if each.evidence is not Grade.EMULATED and len(counted) < 2 * LEAST:
        yield from itertools.pairwise(counted)


def _explained(each: CaseHistory, known: Mapping[tuple[str, str], Known]) -> CaseHistory:
    steps = {step.first.run: _named(each, step, known) for step in each.steps}
    for old, new in _short(each):
        change = known.get((old.run, new.run), {}).get(joint(each.case))
        if isinstance(change, Change) and change.verdict in _BY_VALUE and new.run not in steps:
            steps[new.run] = HistoryStep(
                first=new,
                last=old,
                verdict=change.verdict,
                before=old.value,
                after=new.value,
                worse=change.verdict is Verdict.SLOWER,
                causes=change.causes,
            )
    return steps_in_order(each, steps)


def _named(each: CaseHistory, step: HistoryStep, known: Mapping[tuple[str, str], Known]) -> HistoryStep:
    change = known.get((step.last.run, step.first.run), {}).get(joint(each.case))
    if change is None:
        return step
    if isinstance(change, Refused):  # the same name, and another question: no level follows from the other
        return replace(step, verdict=Verdict.UNKNOWN, worse=False, causes=(change.why,))
    # Levels see more runs than two: what these alone do not show stays what the levels say.
    if not change.verdict.changed:
        return replace(step, causes=change.causes)
    why = (change.why,) if change.why else ()
    return replace(step, verdict=change.verdict, causes=change.causes or why)


def _changes(load: Callable[[str], Run], before: str, after: str) -> Known:
    """By case; nothing where the two cannot be compared."""
    known: Known = {}
    with suppress(TrnbenchError):  # one cannot be read, or they have nothing that compares
        runs = load(before), load(after)
        known |= {joint(each.id): each for each in paired(*runs).refused}
        known |= {change.case.joint: change for change in compared(*runs).changes}
    return known
