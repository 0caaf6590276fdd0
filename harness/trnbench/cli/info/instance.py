"""One instance: what it is made of, its figures with their sources, what it cannot do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trnbench.cli.info.section import SKIPS, document_name, skips
from trnbench.cli.output import Column
from trnbench.cli.sections import Row, Section

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.registry import Registry

_FACTS: tuple[Column | str, ...] = (
    "subject",
    "figure",
    Column("printed", keep=1),
    Column("source", keep=1),
    "locator",
    Column("superseded_by", "superseded by"),
)


def about_instance(registry: Registry, name: str) -> tuple[str, list[Section]]:
    """Its title, and all there is to know about it. Raises what `Registry.system` raises."""
    from trnbench.run.plan import plan
    from trnbench.run.selection import Selection

    system = registry.system(name)
    instance = system.instance
    about: list[Row] = [
        {"what": "name", "is": system.name},
        {"what": "other names", "is": ", ".join(instance.aliases)},
        {"what": "generation", "is": f"{system.generation.name} ({system.generation.title})"},
        {"what": "scope", "is": str(instance.scope)},
        {
            "what": "made of",
            "is": f"{system.size:,} × {instance.parent}" if instance.sizable else instance.parent,
        },
        {"what": "devices", "is": f"{system.devices:,} × {instance.device}"},
        {"what": "cores", "is": f"{system.devices * system.cores_per_device:,} × {instance.core}"},
        {"what": "hosts", "is": f"{system.hosts:,}"},
        {"what": "in a default run", "is": "yes" if instance.default else "no"},
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
            marks = ", ".join(
                word for word in (*fact.dtypes, "sparse" if fact.sparse else "", fact.qualifier) if word
            )
            yield {
                "subject": subject,
                "figure": f"{fact.metric} ({marks})" if marks else fact.metric,
                "printed": f"{fact.printed} {fact.printed_unit}".strip(),
                "value": fact.value,
                "source": document_name(system, fact.source),
                "locator": fact.locator,
                "superseded_by": document_name(system, fact.superseded_by),
            }
