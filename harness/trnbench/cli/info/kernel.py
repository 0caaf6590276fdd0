"""One kernel: axes, formulas, peaks, implementations, and what of it would be skipped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trnbench.cli.info.section import SKIPS, document_name, skips
from trnbench.cli.output import Column
from trnbench.cli.sections import Row, Section

if TYPE_CHECKING:
    from trnbench.facts.peak import PeakChoice, PeakPolicy
    from trnbench.generation import System
    from trnbench.kernels.case import Case
    from trnbench.kernels.kernel import Kernel, PrimaryMetric
    from trnbench.registry import Registry
    from trnbench.run.plan import Plan

_AXES: tuple[Column | str, ...] = ("axis", "unit", "values", Column("wide", "above core scope"), "about")
_WORK: tuple[Column | str, ...] = ("scope", "formula", Column("example", "for example"))
_PEAKS: tuple[Column | str, ...] = ("instance", "scope", "dtype", "peak", "source", "formula", "note")


def about_kernel(registry: Registry, kernel: Kernel, policy: PeakPolicy) -> tuple[str, list[Section]]:
    """Its title, and all there is to know about it; peaks by `policy`."""
    from trnbench.run.plan import plan
    from trnbench.run.selection import Selection

    planned = plan(registry, Selection(kernels=(kernel.name,)))
    primary = kernel.primary
    about: list[Row] = [
        {"what": "name", "is": kernel.name},
        {"what": "about", "is": kernel.about},
        {"what": "family", "is": kernel.family},
        {"what": "tags", "is": ", ".join(kernel.tags)},
        {"what": "scopes", "is": _scopes(kernel)},
        {"what": "judged by", "is": f"{primary.name} in {primary.unit}, {primary.better} is better"},
        {"what": "held against", "is": _held(primary)},
    ]
    for scope, other in kernel.primary_at.items():
        about += [
            {"what": f"judged by, {scope}", "is": f"{other.name} in {other.unit}, {other.better} is better"},
            {"what": f"held against, {scope}", "is": _held(other)},
        ]
    about += [
        {"what": f"implementation, {kind}", "is": reference}
        for kind, reference in kernel.implementations.items()
    ]
    about += [{"what": "tests", "is": str(each)} for each in kernel.tests]
    axes: list[Row] = [
        {
            "axis": axis.name,
            "unit": axis.unit,
            "values": list(axis.values),
            "wide": list(axis.wide),
            "about": axis.about + (f"; takes {', '.join(map(str, axis.choices))}" if axis.choices else ""),
        }
        for axis in kernel.axes
    ]
    sections: list[Section] = [
        ("kernel", ("what", "is"), about),
        ("axes", _AXES, axes),
        ("work", _WORK, list(_work(planned))),
        ("peaks", _PEAKS, list(_peaks(planned, policy))),
        ("skipped", SKIPS, list(skips(planned))),
    ]
    return f"{kernel.name}: {kernel.title}", sections


def _scopes(kernel: Kernel) -> str:
    default = kernel.default_scopes or kernel.scopes
    return ", ".join(
        str(scope) + ("" if scope in default else " (when asked for)") for scope in kernel.scopes
    )


def _held(primary: PrimaryMetric) -> str:
    if not primary.peak:
        return "nothing: no document gives such a figure"
    marks = [primary.qualifier, "sparse" if primary.sparse else "", str(primary.direction)]
    marks += [f"of one {primary.scope}"] if primary.scope else []
    return f"{primary.peak} ({', '.join(filter(None, marks))})" if any(marks) else primary.peak


def _work(planned: Plan) -> Iterable[Row]:
    """The formula at each scope, with the counts of the last case of it that runs."""
    from trnbench.facts.format import show

    last = {case.key.scope: case for case in planned.cases}
    last |= {case.key.scope: case for case in planned.runnable}
    for scope, case in last.items():
        work = case.kernel.work(case.key.point, case.extent)
        counts = ", ".join(
            f"{count} {show(amount, 'B') if count.endswith('bytes') else f'{amount:.4g}'}"
            for count, amount in work.as_counts().items()
        )
        yield {"scope": str(scope), "formula": work.formula, "example": f"{case.id}: {counts}"}


def _peaks(planned: Plan, policy: PeakPolicy) -> Iterable[Row]:
    from trnbench.run.case_peaks import CasePeaks

    peaks, seen = CasePeaks(policy, alternatives=False), set()
    for case in planned.cases:
        key = (case.key.instance, case.key.scope, case.key.dtype)
        if key in seen:
            continue
        seen.add(key)
        choice = peaks.of(case, planned.systems[case.key.instance])
        if choice is not None:
            yield _peak(case, choice, planned.systems[case.key.instance])


def _peak(case: Case, choice: PeakChoice, system: System) -> Row:
    from trnbench.facts.format import show

    chosen = choice.chosen
    return {
        "instance": case.key.instance,
        "scope": str(chosen.scope),
        "dtype": chosen.dtype,
        "peak": show(chosen.value, case.primary.unit),
        "value": chosen.value,
        "source": document_name(system, chosen.source),
        "formula": chosen.formula,
        "note": choice.note,
    }
