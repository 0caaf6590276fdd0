"""What a run carries so that it can be read when plugins and documents have changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from trnbench.backend import Backend
from trnbench.bounded import MIB, read_file
from trnbench.digest import digest_of, package_of, packages_digest, short_digest
from trnbench.distribution import own_packages
from trnbench.errors import BadInput, TrnbenchError
from trnbench.facts.fact import FactBook
from trnbench.generation import Generation, System
from trnbench.isolation.interrupt import from_outside
from trnbench.isolation.output import aside
from trnbench.record import Record
from trnbench.results.measurement import Grade
from trnbench.results.run import Run, SystemRecord
from trnbench.run.environment import describe
from trnbench.run.expectation import fidelity_of
from trnbench.run.headline import PRODUCTS
from trnbench.run.identity import scrub, scrub_all, scrub_argv, scrub_private
from trnbench.run.selection import RunSettings
from trnbench.store.answers import answers_of, same_code
from trnbench.store.cache import Cache
from trnbench.topology.graph import Topology
from trnbench.version import VERSION

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.run.plan import Plan


DRAWN_DEVICES = 256
"""Larger graphs are described by their summary alone: nobody can read them drawn."""

_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # none that is mistaken for another


def now() -> str:
    """UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def new_id() -> str:
    """A run's id: the time in UTC, and four letters for runs of the same second."""
    letters = "".join(_LETTERS[drawn % len(_LETTERS)] for drawn in os.urandom(4))
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{letters}"


def begin(
    plan: Plan,
    backend: Backend,
    registry: Registry,
    settings: RunSettings,
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
            registry, backend.name, list(books), notes, linked=linked, multiplied=multiplied, cache=cache
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
        plugins=tuple(replace(plugin, error=scrub(plugin.error)) for plugin in registry.plugins),
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


SECTION = "graphs"
"""Of a generation's answers."""


FEWEST = 16
"""Devices of a system whose summary is shipped: one of a smaller graph takes a millisecond."""


class Shipped(Record, forbid_unknown_fields=True):
    """`made_from`: digest of the figures that `summary` was made from."""

    made_from: str
    summary: dict[str, Any]


def described(
    system: System, notes: list[str], cache: Cache | None, *, drawn: bool
) -> tuple[Topology | None, dict[str, Any]]:
    """The graph, where it is `drawn` or had to be built, and its summary. A system without a graph still has
    its core cases; why it has none is noted."""
    figures = _figures(system)
    key = digest_of("summary of a graph", packages_digest(_packages(system)), figures)
    known = _shipped(system, figures) or (_kept(cache, key) if cache is not None else None)
    graph = _graph(system, notes) if drawn or known is None else None
    if known is not None or graph is None:
        return graph, known or {}
    from trnbench.topology.properties import summarise

    summary = summarise(graph)
    if cache is not None:
        cache.put(key, msgspec.json.encode(summary))
    return graph, summary


def shipped(systems: Iterable[System]) -> dict[str, Shipped]:
    """The section of a generation's answers, made anew.

    Raises `TrnbenchError` for a system without a graph.
    """
    from trnbench.topology.properties import summarise

    return {
        system.name: Shipped(short_digest(_figures(system)), summarise(system.topology()))
        for system in systems
        if system.devices >= FEWEST
    }


def builders(systems: Iterable[System]) -> set[str]:
    """Packages that build and summarise the graphs of these systems."""
    return {package for system in systems for package in _packages(system)}


def _shipped(system: System, figures: bytes) -> dict[str, Any] | None:
    """None where nothing is shipped that was made from what the system is now."""
    if system.devices < FEWEST:
        return None
    try:
        answers = answers_of(system.generation)
        rows = answers.section(SECTION, dict[str, Shipped]) if answers is not None else None
        row = rows.get(system.name) if rows else None
        if answers is None or row is None or row.made_from != short_digest(figures):
            return None
        return row.summary if same_code(answers.code, _packages(system)) else None
    except (BadInput, SyntaxError):  # made anew
        return None


def _graph(system: System, notes: list[str]) -> Topology | None:
    try:
        return system.topology()
    except TrnbenchError as error:
        notes.append(f"{system.name} has no graph: {error.what}")
    return None


def _kept(cache: Cache, key: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(cache.get(key) or b"", type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _packages(system: System) -> tuple[str, ...]:
    """Code that a graph is built with."""
    builder = package_of(system.instance.topology)
    return ("trnbench.topology", "trnbench.facts", "trnbench.generation", builder)


def _figures(system: System) -> bytes:
    """Figures that a graph is built from: facts and costs as they were read."""
    built_from = (system.generation.name, system.instance, system.size, system.book, system.costs)
    return msgspec.json.encode(built_from, order="deterministic", enc_hook=str)


COSTS = "costs/"
"""Begins the name of a cost file; the generation that it speaks of follows."""


def inputs_of(plan: Plan, generations: Mapping[str, Generation], *, costs: bool) -> dict[str, str]:
    """Texts by name, sorted: `package/module.py`, `costs/trn3/package/costs.toml`; none tells the machine.

    `costs`: with the cost files of each generation, those of what it is based on among them. Files of more
    than 1 MiB, and those that are no text, are left out.
    """
    found = plan.sources()
    if costs:
        for name in {system.generation.name for system in plan.systems.values()}:
            found |= _costs(name, generations)
    return dict(sorted(_texts(found)))


def _texts(files: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    own = own_packages()
    for name, content in files.items():
        if len(content) <= MIB:
            with suppress(UnicodeDecodeError):
                text = content.decode("utf-8")
                # What ships with trnbench has to read the same on every machine, whatever its user is called.
                yield scrub(name), scrub_private(text) if own.intersection(name.split("/")) else scrub(text)


def _costs(name: str, generations: Mapping[str, Generation]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    step, passed = generations.get(name), set[str]()
    while step is not None and step.name not in passed:
        passed.add(step.name)
        if step.costs is not None:
            with suppress(TrnbenchError):  # a case that needs it says so
                files[f"{COSTS}{name}/{_name(step.costs)}"] = read_file(step.costs, most=MIB)
        step = generations.get(step.base)
    return files


def _name(path: Path) -> str:
    """From the outermost package that holds the file; its last folder where none does."""
    top = path.parent
    while (top.parent / "__init__.py").is_file():
        top = top.parent
    return path.relative_to(top.parent).as_posix()
