"""A run with fewer of its cases, for a page that could not carry them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from trnbench.results.measurement import Status
from trnbench.results.run import Run

_TOLD = {each.value for each in (Status.FAILED, Status.SUSPECT, Status.INCONCLUSIVE)}
_NAMED = 5
SAMPLE = "A sample"
"""Begins the note that says what was left out."""


class CaseMark(NamedTuple):
    """What a case is chosen by; `fraction` of its peak, None where it was not judged."""

    kernel: str
    dtype: str
    scope: str
    instance: str
    status: str
    fraction: float | None


def chosen(marks: Sequence[CaseMark], count: int) -> list[int]:
    """The places of at most `count` cases (more where more than that are kept for certain), in their order.
    The same cases give the same places.

    Kept for certain: what failed, is suspect or inconclusive, and of each kernel, data type, scope and system
    the case nearest to its peak. Of the rest every n-th, so that sweeps stay sweeps.
    """
    if len(marks) <= count:
        return list(range(len(marks)))
    certain = {place for place, mark in enumerate(marks) if mark.status in _TOLD} | _best(marks)
    rest = [place for place in range(len(marks)) if place not in certain]
    room = max(count - len(certain), 0)
    spread = {rest[at * len(rest) // room] for at in range(room)} if room else set()
    return sorted(certain | spread)


def noted(kept: Run, marks: Sequence[CaseMark]) -> Run:
    """`kept`, a sample of cases of these marks, says what was left out. Its digest is of the whole, and is
    left out."""
    left = Counter(mark.kernel for mark in marks)
    left.subtract(measurement.case.kernel for measurement in kept.measurements)
    most = [f"{kernel} {number:,}" for kernel, number in left.most_common(_NAMED) if number]
    more = sum(1 for number in left.values() if number) - len(most)
    others = f" and {more} more" if more > 0 else ""
    note = (
        f"{SAMPLE}: {len(kept.measurements):,} of {len(marks):,} cases. All that failed, are suspect or "
        "inconclusive are here. So is the one nearest to its peak of each kernel, data type, scope and "
        f"system, and of the rest every n-th. Left out: {', '.join(most)}{others}."
    )
    return msgspec.structs.replace(kept, notes=(*kept.notes, note), digest="")


def _best(marks: Sequence[CaseMark]) -> set[int]:
    """Of each kernel, data type, scope and system the case that stands for its sweep."""
    best: dict[tuple[str, ...], tuple[float, int]] = {}
    for place, mark in enumerate(marks):
        key = mark[:4]
        merit = mark.fraction or 0.0
        if key not in best or merit > best[key][0]:
            best[key] = merit, place
    return {place for _, place in best.values()}
