"""Two runs of one page: of each case what the other run says of it, and what changed from the first to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import trnbench
from trnbench import Change, Run, Side, TrnbenchError
from trnbench_reports import address, numbers


class Beside(NamedTuple):
    """`anchor`: of the case in the other run. `change` is from the first run to the second, in either."""

    value: str
    anchor: str
    change: str
    why: str


def beside(runs: Sequence[Run]) -> dict[tuple[int, str], Beside]:
    """By index of the run and id of the case; empty unless there are two runs with cases in common."""
    if len(runs) != 2 or runs[0].id == runs[1].id:
        return {}
    try:
        found = trnbench.compare_runs(*runs, across=True)
    except TrnbenchError:  # nothing in common
        return {}
    told: dict[tuple[int, str], Beside] = {}
    for change in found.changes:
        told[0, change.before.id] = _of(change, change.after, 1)
        told[1, change.after.id] = _of(change, change.before, 0)
    return told


def _of(change: Change, other: Side, index: int) -> Beside:
    value = numbers.show(other.value, change.unit) if other.value is not None else str(other.status)
    return Beside(
        value=value,
        anchor=address.figure_by_id(index, other.id, address.SHARE),
        change=trnbench.change_text(change),
        why="; ".join(filter(None, (change.why, *change.causes))),
    )
