"""What a case says of its time: waterfall, busy engines, and how busy they were when.

A backend stores them in `Measurement.detail`, small enough for a run of thousands:

- "waterfall": `[[name, seconds], …]` from the time at the model's own limit on; adds up to `time_s`
- "busy": `{engine or queue: seconds}`
- "strip": `{engine or queue: "0359…"}`, one digit for each equal span of the time: its busy share, 9 is all
- "lines": `[[place, text, seconds], …]`, source lines by the time of their engines, the longest first
- "line_strip": `{engine or queue: "0-12…"}`, for each span of the strip the line it was at, "-" for another
- "profiled": `{"engines_s": {engine: seconds}}` of an execution under the vendor's profiler
- "command": what makes the timeline file

Runs may come from anywhere, so whatever is not of this form counts as absent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trnbench import Measurement, stored_waterfall, waterfall_from_peak

LIMIT = "limit of "
"""Begins the step from a document's peak to the model's own limit of an engine or a memory."""
_OVERLAPPING = ("tensor", "vector", "scalar", "gpsimd", "sync", "dma", "hbm")


@dataclass(frozen=True, kw_only=True)
class Losses:
    """Seconds, except `strip`: busy shares from 0 to 1. `terms` is empty where no waterfall is stored."""

    case: Measurement
    time_s: float
    terms: tuple[tuple[str, float], ...]
    busy: tuple[tuple[str, float], ...]
    command: str

    @property
    def strip(self) -> tuple[tuple[str, tuple[float, ...]], ...]:
        """Read when it is drawn: a run has thousands, a page draws few."""
        return _strip(self.case.detail.get("strip"))

    @property
    def lines(self) -> tuple[tuple[str, str, float], ...]:
        """Place, text and seconds of the source lines that take longest; they overlap."""
        found = self.case.detail.get("lines")
        return tuple(
            (each[0], each[1], seconds)
            for each in (found if isinstance(found, Sequence) and not isinstance(found, str) else ())
            if isinstance(each, Sequence)
            and len(each) == 3
            and isinstance(each[0], str)
            and isinstance(each[1], str)
            and (seconds := _number(each[2])) is not None
        )

    @property
    def worst(self) -> tuple[str, float] | None:
        """The largest term that is no work at the peak, nor the limit of an engine: that is no cause that
        a kernel could change. None where there is none."""
        causes = (term for term in self.terms[1:] if not term[0].startswith(LIMIT))
        return max(causes, key=lambda term: term[1], default=None)


def any_of(case: Measurement) -> bool:
    """Whether something is kept of what was busy; `of` says whether it can be read."""
    return bool(case.time_s and (case.detail.get("busy") or case.detail.get("waterfall") or case.parts))


def of(case: Measurement) -> Losses | None:
    """None where nothing is known of what was busy."""
    if not case.time_s or not math.isfinite(case.time_s) or case.time_s <= 0:
        return None
    detail = case.detail
    busy = _seconds(detail.get("busy"))
    if not busy:
        busy = tuple((part.name, part.seconds) for part in case.parts if part.name in _OVERLAPPING)
    busy = tuple((name, spent) for name, spent in busy if 0 < spent <= case.time_s * (1 + 1e-3))
    terms = stored_waterfall(case) if "waterfall" in detail else ()
    if not busy and not terms:
        return None
    command = detail.get("command", "")
    return Losses(
        case=case,
        time_s=case.time_s,
        terms=waterfall_from_peak(terms, case.judgement.fraction * case.time_s) if case.judgement else terms,
        busy=tuple(sorted(busy, key=_rank)),
        command=command if isinstance(command, str) else "",
    )


ENGINES = ("tensor", "vector", "scalar", "gpsimd")


def profiled(case: Measurement) -> dict[str, float]:
    """Engine → seconds it was active in an execution under a profiler; empty where none was made."""
    told = case.detail.get("profiled")
    if told is None:
        return {}
    found = _seconds(told.get("engines_s")) if isinstance(told, Mapping) else ()
    return {name: seconds for name, seconds in found if name in ENGINES and seconds >= 0}


def _rank(entry: tuple[str, float]) -> tuple[int, str]:
    name = entry[0]
    first = next((i for i, each in enumerate(_OVERLAPPING) if name.startswith(each)), len(_OVERLAPPING))
    return first, name


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _seconds(found: object) -> tuple[tuple[str, float], ...]:
    if not isinstance(found, Mapping):
        return ()
    pairs = ((str(name), _number(value)) for name, value in found.items())
    return tuple((name, value) for name, value in pairs if value is not None)


def _strip(found: object) -> tuple[tuple[str, tuple[float, ...]], ...]:
    if not isinstance(found, Mapping):
        return ()
    rows = []
    for name, digits in found.items():
        if isinstance(digits, str) and 2 <= len(digits) <= 400 and digits.isascii() and digits.isdigit():
            rows.append((str(name), tuple(int(each) / 9 for each in digits)))
    return tuple(rows)
