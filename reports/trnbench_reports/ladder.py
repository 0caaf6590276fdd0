"""One problem, solved with more and more effort: kernels NAME_naive, NAME_blocked and NAME of one run.

Steps are compared at the same point on the same system, on one core: what a technique brings there is
its own, and no sharing of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trnbench import Measurement, Run, Scope
from trnbench_reports import view

STEPS = ("naive", "blocked", "")
NAMES = {"naive": "naive", "blocked": "blocked", "": "best"}


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One point on one system: a case for each step that was run and is good, in the order of STEPS."""

    kernel: str
    cases: tuple[Measurement | None, ...]

    @property
    def first(self) -> Measurement:
        return next(each for each in self.cases if each is not None)

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
    kernels = {each.case.kernel for each in run.measurements}
    for case in run.measurements:
        name, step = _step(case.case.kernel, kernels)
        if not name or case.case.scope is not Scope.CORE or case.status not in view.GOOD:
            continue
        flops = case.work.get("flops", 0.0)
        sizes = by_ladder.setdefault((name, case.case.generation, case.case.dtype), {})
        sizes.setdefault(flops, {}).setdefault(step, case)
    listed = []
    for (name, _, _), sizes in by_ladder.items():
        whole = [flops for flops, steps in sizes.items() if len(steps) == len(STEPS)]
        if whole:
            steps = sizes[max(whole)]
            listed.append(Rung(kernel=name, cases=tuple(steps.get(step) for step in STEPS)))
    return listed


def _step(kernel: str, kernels: Sequence[str] | set[str]) -> tuple[str, str]:
    """("gemm", "naive") of gemm_naive; ("", "") for a kernel without such a sister."""
    name, _, step = kernel.rpartition("_")
    if name in kernels and step in STEPS:
        return name, step
    return (kernel, "") if f"{kernel}_naive" in kernels else ("", "")
