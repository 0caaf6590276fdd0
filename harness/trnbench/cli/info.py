"""`trnbench info`: one kernel or one instance, in full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from trnbench.cli.context import Session, session
from trnbench.cli.output import Column, emit, emit_json, format_option, write

if TYPE_CHECKING:
    from trnbench.facts.peak import PeakChoice
    from trnbench.generation import System
    from trnbench.kernels.case import Case
    from trnbench.kernels.kernel import Kernel, PrimaryMetric
    from trnbench.registry import Registry
    from trnbench.run.plan import Plan

Row = dict[str, object]

_AXES: tuple[Column | str, ...] = ("axis", "unit", "values", Column("wide", "above core scope"), "about")
_WORK: tuple[Column | str, ...] = ("scope", "formula", Column("example", "for example"))
_PEAKS: tuple[Column | str, ...] = ("instance", "scope", "dtype", "peak", "source", "formula", "note")
_SKIPS: tuple[Column | str, ...] = ("instance", "cases", "of", "reason")
_FACTS: tuple[Column | str, ...] = (
    "subject",
    "figure",
    "printed",
    "source",
    "locator",
    Column("superseded_by", "superseded by"),
)


@click.command("info")
@click.argument("name", metavar="KERNEL|INSTANCE")
@click.option("--peak", "policy", default="", metavar="POLICY", help="seed, device, engine or latest.")
@format_option
@session
def info(state: Session, name: str, policy: str, format: str) -> None:
    """Show all there is to know about one kernel (axes, formulas, peaks, implementations, what would
    be skipped) or one instance (what it is made of, its figures with sources, what it cannot do)."""
    registry = state.registry
    if name in registry.kernels:
        title, sections = _kernel(registry, registry.kernels[name], _policy(policy or state.settings.policy))
    elif name.partition(":")[0] in registry.instance_names(aliases=True):
        title, sections = _instance(registry, name)
    else:
        from trnbench.errors import UnknownName

        known = [*registry.kernels, *registry.instance_names(aliases=True)]
        raise UnknownName(
            "kernel or instance", name, known, try_="trnbench list kernels, trnbench list instances"
        )
    _show(name, title, sections, format)


Section = tuple[str, Sequence[Column | str], list[Row]]


def _show(name: str, title: str, sections: list[Section], format: str) -> None:
    if format == "json":
        emit_json({"name": name, "title": title} | {key: rows for key, _, rows in sections})
        return
    if format == "csv":
        rows = [
            {"section": key, "row": index, "key": column, "value": value}
            for key, _, rows in sections
            for index, row in enumerate(rows)
            for column, value in row.items()
        ]
        emit(rows, ("section", "row", "key", "value"), "csv")
        return
    write(f"# {title}\n\n" if format == "md" else f"{title}\n\n")
    for key, columns, rows in sections:
        if rows:
            emit(rows, columns, format, title=key.capitalize())
            write("\n")


# ---- a kernel


def _kernel(registry: Registry, kernel: Kernel, policy: Any) -> tuple[str, list[Section]]:
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
        ("skipped", _SKIPS, list(_skips(planned))),
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


def _peaks(planned: Plan, policy: Any) -> Iterable[Row]:
    from trnbench.run.judge import Judge

    judge, seen = Judge(policy), set()
    for case in planned.cases:
        key = (case.key.instance, case.key.scope, case.key.dtype)
        if key in seen:
            continue
        seen.add(key)
        choice = judge.peak(case, planned.systems[case.key.instance])
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
        "source": _document(system, chosen.source),
        "formula": chosen.formula,
        "note": choice.note,
    }


def _document(system: System, source: str) -> str:
    found = system.book.sources.get(source)
    return f"{found.document} {found.version}".strip() if found else source


def _skips(planned: Plan) -> Iterable[Row]:
    reasons: dict[tuple[str, str], int] = {}
    totals: dict[str, int] = {}
    for case in planned.cases:
        totals[case.key.instance] = totals.get(case.key.instance, 0) + 1
        if case.skip:
            key = (case.key.instance, case.skip)
            reasons[key] = reasons.get(key, 0) + 1
    for (instance, reason), count in reasons.items():
        yield {"instance": instance, "cases": count, "of": totals[instance], "reason": reason}


def _policy(word: str) -> Any:
    from trnbench.errors import UnknownName
    from trnbench.facts.peak import PeakPolicy

    if word not in {each.value for each in PeakPolicy}:
        raise UnknownName("peak policy", word, [each.value for each in PeakPolicy])
    return PeakPolicy(word)


# ---- an instance


def _instance(registry: Registry, name: str) -> tuple[str, list[Section]]:
    from trnbench.run.plan import plan
    from trnbench.run.selection import Selection

    system = registry.system(name)
    made = system.instance
    about: list[Row] = [
        {"what": "name", "is": system.name},
        {"what": "other names", "is": ", ".join(made.aliases)},
        {"what": "generation", "is": f"{system.generation.name} ({system.generation.title})"},
        {"what": "scope", "is": str(made.scope)},
        {"what": "made of", "is": f"{system.size:,} × {made.parent}" if made.sizable else made.parent},
        {"what": "devices", "is": f"{system.devices:,} × {made.device}"},
        {"what": "cores", "is": f"{system.devices * system.cores_per_device:,} × {made.core}"},
        {"what": "hosts", "is": f"{system.hosts:,}"},
        {"what": "in a default run", "is": "yes" if made.default else "no"},
        {"what": "brought by", "is": system.plugin},
    ]
    # A generation that can do what its base cannot leaves the sentence empty.
    cannot: list[Row] = [
        {"need": need, "why": why} for need, why in system.costs.get("cannot", {}).items() if why
    ]
    planned = plan(registry, Selection(instances=(name,)))
    sections: list[Section] = [
        ("instance", ("what", "is"), [row for row in about if row["is"]]),
        ("figures", _FACTS, list(_facts(system))),
        ("cannot", ("need", "why"), cannot),
        ("skipped", _SKIPS, list(_skips(planned))),
    ]
    return f"{system.name}: {made.title}", sections


def _facts(system: System) -> Iterable[Row]:
    """Every figure of the system, its device and its core, superseded ones marked."""
    subjects = (system.instance.name, system.instance.device, system.instance.core)
    for subject in subjects:
        for fact in system.book.select(subject):
            if fact.value is None:
                continue
            marks = ", ".join(
                word for word in (*fact.dtypes, "sparse" if fact.sparse else "", fact.qualifier) if word
            )
            yield {
                "subject": subject,
                "figure": f"{fact.metric} ({marks})" if marks else fact.metric,
                "printed": f"{fact.printed} {fact.printed_unit}".strip(),
                "value": fact.value,
                "source": _document(system, fact.source),
                "locator": fact.locator,
                "superseded_by": _document(system, fact.superseded_by),
            }
