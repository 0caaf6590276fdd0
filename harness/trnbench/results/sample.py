"""A run with fewer of its cases, for a page that could not carry them all."""

from __future__ import annotations

from collections import Counter

import msgspec

from trnbench.results.measurement import Measurement, Status
from trnbench.results.run import Run

_TOLD = (Status.FAILED, Status.SUSPECT, Status.INCONCLUSIVE)
_NAMED = 5


def sampled(run: Run, count: int) -> Run:
    """At most `count` cases (more where more than that are kept for certain), in their order, and a note that
    says what was left out. The same run gives the same sample.

    Kept for certain: what failed, is suspect or inconclusive, and of each kernel, data type, scope and system
    the case nearest to its peak. Of the rest every n-th, so that sweeps stay sweeps. The run's digest is of
    the whole, and is left out.
    """
    cases = run.measurements
    if len(cases) <= count:
        return run
    certain = {at for at, each in enumerate(cases) if each.status in _TOLD} | _best(cases)
    rest = [at for at in range(len(cases)) if at not in certain]
    room = max(count - len(certain), 0)
    spread = {rest[at * len(rest) // room] for at in range(room)} if room else set()
    kept = tuple(each for at, each in enumerate(cases) if at in certain or at in spread)
    return msgspec.structs.replace(run, measurements=kept, notes=(*run.notes, _note(cases, kept)), digest="")


def _best(cases: tuple[Measurement, ...]) -> set[int]:
    """Of each kernel, data type, scope and system the case that stands for its sweep."""
    best: dict[tuple[str, ...], tuple[float, int]] = {}
    for at, each in enumerate(cases):
        key = (each.case.kernel, each.case.dtype, each.case.scope.value, each.case.instance)
        merit = each.judgement.fraction if each.judgement is not None else 0.0
        if key not in best or merit > best[key][0]:
            best[key] = merit, at
    return {at for _, at in best.values()}


def _note(cases: tuple[Measurement, ...], kept: tuple[Measurement, ...]) -> str:
    left = Counter(each.case.kernel for each in cases)
    left.subtract(each.case.kernel for each in kept)
    most = [f"{kernel} {number:,}" for kernel, number in left.most_common(_NAMED) if number]
    more = sum(1 for number in left.values() if number) - len(most)
    others = f" and {more} more" if more > 0 else ""
    return (
        f"A sample: {len(kept):,} of {len(cases):,} cases. All that failed, are suspect or inconclusive are "
        "here, and of each kernel, data type, scope and system the one nearest to its peak; of the rest every"
        f" n-th. Left out: {', '.join(most)}{others}."
    )
