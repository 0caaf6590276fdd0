"""One measurement out of those that all ranks made of a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from trnbench.results.measurement import Measurement, Reason, Status
from trnbench.results.statistics import median

STRAGGLES = 1.05
"""Times the median of all ranks from which the slowest is named: two medians, each known to 2 %, differ by
4 % without a cause."""


def together(seen: Mapping[int, Measurement], shared: Sequence[Sequence[int]] = ()) -> Measurement:
    """What a job of all ranks gets: the slowest rank's time, and with it all others' in `detail.ranks`.

    One rank that failed fails the case; one whose number is suspect makes it suspect. `shared` are ranks
    that ran on one machine: they measured each other, and the result says so.
    """
    number, chosen = _chosen(seen)
    notes = [*chosen.notes]
    detail = {**chosen.detail}
    times = {each: one.time_s for each, one in seen.items() if one.time_s is not None}
    if len(times) == len(seen):
        told = spread(times)
        detail["ranks"] = told
        if told["slowest_over_median"] > STRAGGLES:
            notes.insert(
                0,
                f"rank {told['slowest']} is a straggler: {told['slowest_over_median']:.3g} times the median "
                f"of {len(times)} ranks",
            )
    elif chosen.status is not Status.SKIPPED:
        detail["ranks"] = {
            "count": len(seen),
            "status": {str(each): _told(seen[each]) for each in sorted(seen)},
        }
    notes.extend(
        f"ranks {', '.join(map(str, each))} ran at once on one machine and shared it" for each in shared
    )
    text = chosen.reason_text
    if chosen.status in (Status.FAILED, Status.SUSPECT) and text:
        text = f"rank {number}: {text}"
    return msgspec.structs.replace(chosen, notes=tuple(notes), detail=detail, reason_text=text)


def _told(one: Measurement) -> str:
    return f"{one.status} {one.reason}".strip()


def spread(times: Mapping[int, float]) -> dict[str, Any]:
    """Seconds by rank, their median, the slowest rank and how far it is from the median. JSON-safe."""
    slowest = max(times, key=lambda each: (times[each], -each))
    middle = median(tuple(times.values()))
    return {
        "count": len(times),
        "time_s": {str(each): times[each] for each in sorted(times)},
        "median_s": middle,
        "slowest": slowest,
        "slowest_over_median": times[slowest] / middle,
    }


def _chosen(seen: Mapping[int, Measurement]) -> tuple[int, Measurement]:
    for status in (Status.FAILED, Status.SUSPECT):
        for number in sorted(seen):
            if seen[number].status is status:
                return number, seen[number]
    skipped = [number for number in sorted(seen) if seen[number].status is Status.SKIPPED]
    if skipped and len(skipped) < len(seen):
        odd = seen[skipped[0]]
        text = f"left out there, and not elsewhere: {odd.reason_text}"
        return skipped[0], msgspec.structs.replace(
            odd, status=Status.FAILED, reason=Reason.ERROR, reason_text=text
        )
    number = max(seen, key=lambda each: (seen[each].time_s or 0.0, -each))
    return number, seen[number]
