"""What a run carries so that it can be read when plugins and documents have changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from trnbench.backend import Backend
from trnbench.expectation import fidelity_of
from trnbench.facts.book import FactBook
from trnbench.generation import System
from trnbench.isolation.interrupt import from_outside
from trnbench.isolation.output import aside
from trnbench.results.evidence import Grade
from trnbench.results.run import PluginRecord, Run, SystemRecord
from trnbench.run.environment import describe
from trnbench.run.headline.question import PRODUCTS
from trnbench.run.identity import scrub, scrub_all, scrub_argv, scrub_private
from trnbench.run.inputs import inputs_of
from trnbench.run.remembering.graph import described
from trnbench.run.settings import RunSettings
from trnbench.topology.graph import Topology
from trnbench.version import VERSION

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.run.plan import Plan
    from trnbench.store.cache import Cache

DRAWN_DEVICES = 256
"""Larger graphs are described by their summary alone: nobody can read them drawn."""

_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # none that is mistaken for another


def now() -> str:
    """UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def new_id(when: datetime | None = None) -> str:
    """A run's id: the time in UTC, and four letters for runs of the same second."""
    when = when or datetime.now(UTC)
    return f"{when:%Y%m%d-%H%M%S}-{''.join(_LETTERS[drawn % len(_LETTERS)] for drawn in os.urandom(4))}"


def begin(
    plan: Plan,
    backend: Backend,
    registry: Registry,
    settings: RunSettings,
    *,
    grade: Grade,
    cache: Cache | None = None,
) -> Run:
    """The run before its first case: all but measurements, end and outcome."""
    notes = [*plan.notes]
    systems: dict[str, SystemRecord] = {}
    topologies: dict[str, Topology] = {}
    books: dict[str, FactBook] = {}
    for name, system in plan.systems.items():
        books.setdefault(system.generation.name, system.book)
        graph, summary = described(system, notes, cache, drawn=system.devices <= DRAWN_DEVICES)
        systems[name] = system_record(system, summary)
        if graph is not None and system.devices <= DRAWN_DEVICES:
            topologies[name] = graph
    linked = any(case.kernel.spread.linked for case in plan.cases)
    fidelity = None
    if grade is Grade.EMULATED:
        multiplied = any(case.kernel.name in PRODUCTS for case in plan.cases)
        fidelity = fidelity_of(
            registry,
            backend.name,
            list(books),
            notes,
            linked=linked,
            multiplied=multiplied,
            cache=cache,
        )
    return Run(
        id=new_id(),
        created=now(),
        tool_version=VERSION,
        argv=scrub_argv(settings.argv),
        settings=scrub_all({**settings.record(), "selection": msgspec.to_builtins(plan.selection)}),
        policy=settings.policy,
        environment=describe(_of_backend(backend, notes)),
        backend=backend.name,
        grade=grade,
        systems=systems,
        books=_private(books) if settings.facts else books,
        topologies=topologies,
        inputs=inputs_of(plan, registry.generations, costs=grade is Grade.EMULATED),
        plugins=_plugins(registry.plugins),
        fidelity=fidelity,
        notes=tuple(map(scrub, notes)),
    )


def system_record(system: System, summary: dict[str, Any]) -> SystemRecord:
    """What a run keeps of a system, with a summary of its graph."""
    instance, generation = system.instance, system.generation
    return SystemRecord(
        instance=system.name,
        generation=generation.name,
        title=instance.title,
        order=generation.order,
        scope=instance.scope,
        device=instance.device,
        core=instance.core,
        devices=system.devices,
        cores_per_device=system.cores_per_device,
        hosts=system.hosts,
        aliases=instance.aliases,
        topology_summary=summary,
        plugin=system.plugin,
    )


def _private(books: dict[str, FactBook]) -> dict[str, FactBook]:
    """Facts of the user's own may name files of the user's own."""
    tree = scrub_all(msgspec.to_builtins(books), scrub_private)
    return msgspec.convert(tree, dict[str, FactBook])


def _of_backend(backend: Backend, notes: list[str]) -> dict[str, Any]:
    try:
        with aside():
            found = backend.environment()
        if not isinstance(found, Mapping):
            raise TypeError(f"environment() returned {type(found).__name__}, not a mapping")
        return dict(found)
    except BaseException as error:  # what it would have told is missing, and that is told
        if from_outside(error):
            raise
        notes.append(f"backend {backend.name} could not describe its stack: {type(error).__name__}: {error}")
        return {}


def _plugins(records: Iterable[PluginRecord]) -> tuple[PluginRecord, ...]:
    return tuple(
        PluginRecord(
            name=each.name, distribution=each.distribution, version=each.version, error=scrub(each.error)
        )
        for each in records
    )
