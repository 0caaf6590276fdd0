"""What moved the numbers of a comparison: of all that differs, what no unmoved case speaks against."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trnbench.compare.change import Change
from trnbench.compare.inputs import Inputs, conditions_changed
from trnbench.compare.pairs import Pair
from trnbench.results.measurement import Grade
from trnbench.results.run import Run
from trnbench.results.verdict import Verdict

_MOVED = (Verdict.FASTER, Verdict.SLOWER, Verdict.EVIDENCE)


def with_causes(before: Run, after: Run, pairs: Sequence[Pair], changes: Sequence[Change]) -> list[Change]:
    """The changes of `pairs`, those that moved with their causes.

    What differs of the inputs of a case that did not move has moved nothing: it is no cause of its family's
    other cases either, unless nothing else is left.
    """
    inputs = Inputs(before, after)
    idle: set[tuple[str, str]] = set()
    together = list(zip(pairs, changes, strict=True))
    if any(_modelled(change) and change.verdict in _MOVED for change in changes):
        idle = {
            (old.case.family, cause)
            for (old, new), change in together
            if _modelled(change) and change.verdict is Verdict.SAME and not change.effect
            for cause in inputs.causes(old, new)
        }
    return [
        msgspec.structs.replace(change, causes=_causes(inputs, pair, change, idle))
        if _one_case(pair) and (change.verdict in _MOVED or _shown(change))
        else change
        for pair, change in together
    ]


def _causes(inputs: Inputs, pair: Pair, change: Change, idle: set[tuple[str, str]]) -> tuple[str, ...]:
    old, new = pair
    if not _modelled(change):
        if old.evidence.grade is not new.evidence.grade:
            return (f"evidence is {new.evidence.grade}, was {old.evidence.grade}",)
        return (*inputs.sources(old, new), *conditions_changed(old, new))
    causes = inputs.causes(old, new)
    moving = tuple(cause for cause in causes if (old.case.family, cause) not in idle)
    return moving or causes or (inputs.unknown,)


def _one_case(pair: Pair) -> bool:
    """Whether both sides are the same case."""
    return pair[0].case.joint == pair[1].case.joint


def _modelled(change: Change) -> bool:
    """Whether both numbers are of a model."""
    sides = (change.before, change.after)
    return all(side is not None and side.grade in (Grade.EMULATED, Grade.DERIVED) for side in sides)


def _shown(change: Change) -> bool:
    """Whether a difference below the threshold is one all the same."""
    return bool(change.exact and change.effect) or (change.p is not None and change.p < 0.05)
