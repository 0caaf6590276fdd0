"""The constants of a step, fitted on published ones, and what they are without each model.

Few numbers for many kinds of software: the least mean |ln(model / published)| is taken, every model and task
weighing the same however many of its rows were published. No constant is of one model. All lie within
`LIMITS`, and the collectives of a published step take no longer than it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Any

import msgspec

from trnbench_fidelity.steps.archive import NAMES, StepAnswer

if TYPE_CHECKING:
    import numpy as np

LIMITS: dict[str, float] = {"operator_s": 20e-6, "collective_residue": 2.0, "engine_share": 1.0}
"""The largest value that each is searched to, in seconds or as a share; the least is 0.

So long for an operator that a published token of 405 of them would hold little else; collectives three times
as long as alone, beyond which the other constants move by more than a factor of 2 when a model leaves; twice
as long as the engines.
"""

STARTS = (0.05, 0.1, 0.3)
"""Shares of the limits that the search begins at; the better end is taken."""

STEPS = (0.2, 0.1, 0.05)
"""Of the limits, one after the other: each until nothing is better. Finer ones follow single points."""


class FittedStep(msgspec.Struct, frozen=True, kw_only=True):
    """`values` by name, in seconds and shares; `held_out[vote]`: the same, that model not published."""

    values: dict[str, float]
    held_out: dict[str, dict[str, float]]


def fit(found: Sequence[StepAnswer], names: Sequence[str] = NAMES) -> FittedStep:
    """Of the answers of one generation; constants that are not among `names` stay 0."""
    usable = [each for each in found if not each.why]
    values = _fitted(usable, names)
    votes = dict.fromkeys(each.vote for each in usable)
    return FittedStep(
        values=values,
        held_out={
            vote: _fitted([each for each in usable if each.vote != vote], names, values) for vote in votes
        },
    )


def most_residue(found: Sequence[StepAnswer]) -> float:
    """The share that collectives can take at most beyond start and links: what every published step leaves,
    as if nothing else took any time; weights may stream in meanwhile. 0 where one leaves nothing."""
    left = [
        (each.published_s - each.starts_s - each.moving_s) / each.moving_s
        for each in found
        if not each.why and each.moving_s
    ]
    return max(0.0, min(left, default=LIMITS["collective_residue"]))


def _fitted(
    found: Sequence[StepAnswer], names: Sequence[str], warm: Mapping[str, float] | None = None
) -> dict[str, float]:
    import numpy as np

    if not found:
        return dict.fromkeys(NAMES, 0.0)
    objective = _Objective(found)
    limits = np.array([LIMITS[name] if name in names else 0.0 for name in NAMES])
    residue = NAMES.index("collective_residue")
    limits[residue] = min(limits[residue], most_residue(found))
    starts = [np.full(len(NAMES), share) for share in STARTS]
    if warm is not None:
        safe = np.where(limits > 0, limits, 1.0)
        starts = [np.minimum(1.0, np.array([warm[name] for name in NAMES]) / safe)]
    ends = [_search(objective, limits, start) for start in starts]
    best = min(ends, key=lambda end: (round(objective(end * limits), 12), tuple(end)))
    return {name: round(float(value), 9) for name, value in zip(NAMES, best * limits, strict=True)}


class _Objective:
    """Mean over models and tasks of the mean |ln(model / published)| of their points, published being the
    nearest that sources print."""

    def __init__(self, found: Sequence[StepAnswer]) -> None:
        import numpy as np

        self.rows = np.array([row for each in found for row in each.rows])
        self.first = np.cumsum([0, *(len(each.rows) for each in found[:-1])])
        self.least, self.most = np.array([each.printed_s for each in found]).T
        groups: dict[tuple[str, str], int] = {}
        for each in found:
            groups[each.vote, each.family] = groups.get((each.vote, each.family), 0) + 1
        weights = [1.0 / groups[each.vote, each.family] for each in found]
        self.weights = np.array(weights) / len(groups)

    def __call__(self, values: np.ndarray[Any, Any]) -> float:
        import numpy as np

        times = np.maximum.reduceat(self.rows[:, 0] + self.rows[:, 1:] @ values, self.first)
        return float(self.weights @ np.abs(np.log(times / np.clip(times, self.least, self.most))))


def _search(
    objective: _Objective, limits: np.ndarray[Any, Any], start: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Pattern search on shares of the limits: one constant at a time, then one against another."""
    import numpy as np

    free = [number for number, limit in enumerate(limits) if limit > 0]
    now = np.where(limits > 0, start, 0.0)
    least = objective(now * limits)
    for step in STEPS:
        moves = [{number: sign * step} for number in free for sign in (1, -1)]
        moves += [{one: step, other: -step} for one, other in permutations(free, 2)]
        better = True
        while better:
            better = False
            for move in moves:
                tried = now.copy()
                for number, by in move.items():
                    tried[number] = min(1.0, max(0.0, tried[number] + by))
                value = objective(tried * limits)
                if value < least - 1e-9:
                    now, least, better = tried, value, True
    return now
