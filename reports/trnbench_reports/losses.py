"""Where the time of a case goes, and the steps from a naive kernel to the best."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from trnbench import Measurement, Record, Run, Scope, stored_waterfall, waterfall_from_peak
from trnbench_reports import view

LIMIT = "limit of "
"""Begins the step from a document's peak to the model's own limit of an engine or a memory."""
_OVERLAPPING = ("tensor", "vector", "scalar", "gpsimd", "sync", "dma", "hbm")


class Losses(Record, kw_only=True):
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
        return tuple(
            (place, text, seconds)
            for place, text, stored in view.rows_of(self.case.detail.get("lines"), 3)
            if isinstance(place, str)
            and isinstance(text, str)
            and (seconds := view.number(stored)) is not None
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
    busy = tuple(view.seconds(detail.get("busy")).items())
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
    stored = case.detail.get("profiled")
    found = view.seconds(stored.get("engines_s")) if isinstance(stored, Mapping) else {}
    return {name: seconds for name, seconds in found.items() if name in ENGINES and seconds >= 0}


def _rank(entry: tuple[str, float]) -> tuple[int, str]:
    name = entry[0]
    first = next((i for i, engine in enumerate(_OVERLAPPING) if name.startswith(engine)), len(_OVERLAPPING))
    return first, name


def _strip(found: object) -> tuple[tuple[str, tuple[float, ...]], ...]:
    if not isinstance(found, Mapping):
        return ()
    rows = []
    for name, digits in found.items():
        if isinstance(digits, str) and 2 <= len(digits) <= 400 and digits.isascii() and digits.isdigit():
            rows.append((str(name), tuple(int(digit) / 9 for digit in digits)))
    return tuple(rows)


NAMES = {"naive": "naive", "blocked": "blocked", "": "best"}
STEPS = tuple(NAMES)


class Rung(Record, kw_only=True):
    """One point on one system: a case for each step that was run and is good, in the order of STEPS."""

    kernel: str
    cases: tuple[Measurement | None, ...]

    @property
    def first(self) -> Measurement:
        return next(case for case in self.cases if case is not None)

    @property
    def gain(self) -> float | None:
        """Time of the first step over that of the last; None unless both were run."""
        begin, end = self.cases[0], self.cases[-1]
        if begin is None or end is None or not begin.time_s or not end.time_s:
            return None
        return begin.time_s / end.time_s


def rungs(run: Run) -> list[Rung]:
    """By kernel, then in the order of the run; the largest problem of each data type and generation."""
    by_ladder: dict[tuple[str, str, str], dict[float, dict[str, Measurement]]] = {}
    kernels = {measurement.case.kernel for measurement in run.measurements}
    for case in run.measurements:
        name, step = _step(case.case.kernel, kernels)
        if not name or case.case.scope is not Scope.CORE or case.status not in view.GOOD:
            continue
        flops = case.work.get("flops", 0.0)
        sizes = by_ladder.setdefault((name, case.case.generation, case.case.dtype), {})
        sizes.setdefault(flops, {}).setdefault(step, case)
    listed = []
    for (name, _, _), sizes in by_ladder.items():
        sizes_ = [flops for flops, steps in sizes.items() if len(steps) == len(STEPS)]
        if sizes_:
            steps = sizes[max(sizes_)]
            listed.append(Rung(kernel=name, cases=tuple(steps.get(step) for step in STEPS)))
    return listed


def is_step(kernel: str, kernels: Collection[str]) -> bool:
    """Whether `kernel` is a step to a better one of `kernels`, slow on purpose."""
    name, step = _step(kernel, kernels)
    return bool(name and step)


def _step(kernel: str, kernels: Collection[str]) -> tuple[str, str]:
    """("gemm", "naive") of gemm_naive; ("", "") for a kernel without such a sister."""
    name, _, step = kernel.rpartition("_")
    if name in kernels and step in STEPS:
        return name, step
    return (kernel, "") if f"{kernel}_naive" in kernels else ("", "")
