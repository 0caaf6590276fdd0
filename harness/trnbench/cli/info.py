"""One kernel: axes, formulas, peaks, implementations, and what of it would be skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from trnbench.errors import UnknownName
from trnbench.facts.units import show
from trnbench.generation import System
from trnbench.run.metrics import CasePeaks
from trnbench.run.plan import Plan, plan
from trnbench.run.selection import Selection
from trnbench.terminal.cell import WANTED, Column, Columns
from trnbench.terminal.context import Session
from trnbench.terminal.output import Row, Section, emit_sections

if TYPE_CHECKING:
    from trnbench.facts.fact import PeakChoice, PeakPolicy
    from trnbench.kernels.kernel import Case, Kernel, PrimaryMetric
    from trnbench.registry import Registry


SKIPS: Columns = ("instance", "cases", "of", "reason")


def document_name(system: System, source: str) -> str:
    """Document and version of a source's id; the id itself where no document has it."""
    found = system.book.sources.get(source)
    return f"{found.document} {found.version}".strip() if found else source


def skips(planned: Plan) -> Iterable[Row]:
    """How many cases of each instance each reason costs."""
    totals = Counter(case.key.instance for case in planned.cases)
    reasons = Counter((case.key.instance, case.skip) for case in planned.cases if case.skip)
    for (instance, reason), count in reasons.items():
        yield {"instance": instance, "cases": count, "of": totals[instance], "reason": reason}


_AXES: Columns = ("axis", "unit", "values", Column("wide", "above core scope"), "about")
_WORK: Columns = ("scope", "formula", Column("example", "for example"))
_PEAKS: Columns = ("instance", "scope", "dtype", "peak", "source", "formula", "note")


def about_kernel(registry: Registry, kernel: Kernel, policy: PeakPolicy) -> tuple[str, list[Section]]:
    """Its title, and all there is to know about it; peaks by `policy`."""
    planned = plan(registry, Selection(kernels=(kernel.name,)))
    about: list[tuple[str, str]] = [
        ("name", kernel.name),
        ("about", kernel.about),
        ("family", kernel.family),
        ("tags", ", ".join(kernel.tags)),
        ("scopes", _scopes(kernel)),
    ]
    primaries = {"": kernel.primary, **{f", {scope}": each for scope, each in kernel.primary_at.items()}}
    for at, primary in primaries.items():
        about += [
            (f"judged by{at}", f"{primary.name} in {primary.unit}, {primary.better} is better"),
            (f"held against{at}", _held(primary)),
        ]
    about += [(f"implementation, {kind}", reference) for kind, reference in kernel.implementations.items()]
    about += [("tests", str(each)) for each in kernel.tests]
    axes: list[Row] = [
        {
            "axis": axis.name,
            "unit": axis.unit,
            "values": list(axis.values),
            "wide": list(axis.wide),
            "about": axis.about
            + (f"; takes {', '.join(map(str, axis.choices))}" if axis.choices else "")
            + (f", or {' x '.join(axis.sides)}" if axis.sides else ""),
        }
        for axis in kernel.axes
    ]
    sections: list[Section] = [
        ("kernel", ("what", "is"), [{"what": what, "is": told} for what, told in about]),
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
    last = {case.key.scope: case for case in planned.cases}
    last |= {case.key.scope: case for case in planned.runnable}
    for scope, case in last.items():
        work = case.work
        counts = ", ".join(
            f"{count} {show(amount, 'B') if count.endswith('bytes') else f'{amount:.4g}'}"
            for count, amount in work.as_counts().items()
        )
        yield {"scope": str(scope), "formula": work.formula, "example": f"{case.id}: {counts}"}


def _peaks(planned: Plan, policy: PeakPolicy) -> Iterable[Row]:
    peaks, asked, told = CasePeaks(policy, alternatives=False), set(), set()
    for case in planned.cases:
        key = (case.key.instance, case.key.scope, case.key.dtype)
        if key in asked:
            continue
        asked.add(key)
        choice = peaks.of(case, planned.systems[case.key.instance])
        if choice is None:
            continue
        row = _peak(case, choice, planned.systems[case.key.instance])
        if (figure := tuple(row.values())) not in told:  # a bandwidth is the same of all types
            told.add(figure)
            yield row


def _peak(case: Case, choice: PeakChoice, system: System) -> Row:
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


_FACTS: Columns = (
    "subject",
    "figure",
    Column("printed", keep=WANTED),
    Column("source", keep=WANTED),
    "locator",
    Column("superseded_by", "superseded by"),
)


def about_instance(registry: Registry, name: str) -> tuple[str, list[Section]]:
    """Its title, and all there is to know about it. Raises what `Registry.system` raises."""
    system = registry.system(name)
    instance = system.instance
    about = [
        ("name", system.name),
        ("other names", ", ".join(instance.aliases)),
        ("generation", f"{system.generation.name} ({system.generation.title})"),
        ("scope", str(instance.scope)),
        ("made of", f"{system.size:,} × {instance.parent}" if instance.sizable else instance.parent),
        ("devices", f"{system.devices:,} × {instance.device}"),
        ("cores", f"{system.devices * system.cores_per_device:,} × {instance.core}"),
        ("hosts", f"{system.hosts:,}"),
        ("in a default run", "yes" if instance.default else "no"),
        ("brought by", system.plugin),
    ]
    # A generation that can do what its base cannot leaves the sentence empty.
    cannot: list[Row] = [
        {"need": need, "why": why} for need, why in system.costs.get("cannot", {}).items() if why
    ]
    planned = plan(registry, Selection(instances=(name,)))
    sections: list[Section] = [
        ("instance", ("what", "is"), [{"what": what, "is": told} for what, told in about if told]),
        ("figures", _FACTS, list(_facts(system))),
        ("cannot", ("need", "why"), cannot),
        ("skipped", SKIPS, list(skips(planned))),
    ]
    return f"{system.name}: {instance.title}", sections


def _facts(system: System) -> Iterable[Row]:
    """Every figure of the system, its device and its core, superseded ones marked."""
    subjects = (system.instance.name, system.instance.device, system.instance.core)
    for subject in subjects:
        for fact in system.book.select(subject):
            if fact.value is None:
                continue
            marks = ", ".join(filter(None, (*fact.dtypes, "sparse" if fact.sparse else "", fact.qualifier)))
            yield {
                "subject": subject,
                "figure": f"{fact.metric} ({marks})" if marks else fact.metric,
                "printed": f"{fact.printed} {fact.printed_unit}".strip(),
                "value": fact.value,
                "source": document_name(system, fact.source),
                "locator": fact.locator,
                "superseded_by": document_name(system, fact.superseded_by),
            }


def info(state: Session, /, *, subject: str, policy: str | None, format: str) -> None:
    """All there is to know about one kernel or one instance."""
    registry = state.registry
    if subject in registry.kernels:
        title, sections = about_kernel(registry, registry.kernels[subject], state.policy_of(policy))
    elif subject.partition(":")[0] in registry.instance_names(aliases=True):
        title, sections = about_instance(registry, subject)
    else:
        if subject in registry.generations:
            registry.instance(subject)  # its refusal names the systems of the generation
        known = [*registry.kernels, *registry.instance_names(aliases=True)]
        lists = [f"trnbench {each}" for each in ("list kernels", "list instances", "workload list")]
        raise UnknownName("kernel or instance", subject, known, try_=", ".join(lists))
    emit_sections({"name": subject, "title": title}, title, sections, format)
