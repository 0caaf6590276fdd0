"""Which plugin is checked, an installed one or a project by path, and what the checks report of it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from trnbench.bounded import read_toml
from trnbench.distribution import EntryPoint, entry_points, normalised
from trnbench.errors import BadInput, MissingFile, UnknownName
from trnbench.generation import Generation, System
from trnbench.kernels.kernel import Kernel
from trnbench.record import grouped
from trnbench.registry import Brought, Discovered, Loaded, Registry, load_registry
from trnbench.registry.hookspecs import COMMAND_GROUP, GROUP


class Finding(NamedTuple):
    """`about` is what it is about: a generation, an instance, a case, a section.

    A `warning` breaks no promise: something could not be looked at.
    """

    about: str
    problem: str
    try_: str
    check: str = ""
    warning: bool = False

    def __str__(self) -> str:
        grade = "warning: " if self.warning else ""
        return f"{self.check}: {self.about}\n  {grade}{self.problem}\n  try:   {self.try_}"


_PLACES = 4
"""So many further places of a repeated finding are named."""


class Repeated(NamedTuple):
    """Findings of one problem: it is told once, with how often and where else it was met."""

    first: Finding
    others: tuple[Finding, ...] = ()

    @property
    def times(self) -> int:
        return 1 + len(self.others)

    def __str__(self) -> str:
        if not self.others:
            return str(self.first)
        at = (self.first.check, self.first.about)
        places = [spot for spot in dict.fromkeys((o.check, o.about) for o in self.others) if spot != at]
        named = ", ".join(f"{check}: {about}" for check, about in places[:_PLACES])
        more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
        also = f", also in {named}{more}" if places else ""
        return f"{self.first}\n  {self.times} times{also}"


class Report(NamedTuple):
    """`counted` says, for each check made, how many things it looked at."""

    subjects: tuple[str, ...]
    findings: tuple[Finding, ...]
    counted: dict[str, int]

    @property
    def problems(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if not finding.warning)

    @property
    def repeated(self) -> tuple[Repeated, ...]:
        """Each problem once: the checks that need a broken file all meet the same one."""
        alike = grouped(self.findings, lambda each: (each.problem, each.try_, each.warning))
        return tuple(Repeated(first, tuple(others)) for first, *others in alike.values())

    @property
    def passed(self) -> bool:
        return not self.problems

    def summary(self) -> str:
        """One line: what was looked at, and the verdict."""
        looked = ", ".join(f"{name} {count}" for name, count in self.counted.items())
        warnings = sum(each.first.warning for each in self.repeated)
        problems = len(self.repeated) - warnings
        verdict = f"{problems} problem{'s' if problems > 1 else ''}" if problems else "all well"
        if warnings:
            verdict += f", {warnings} {'warning' if warnings == 1 else 'warnings'}"
        return f"{', '.join(self.subjects)}: {verdict} (looked at: {looked})"


class Subject:
    """One plugin with everything it brings, in a registry together with the others installed."""

    def __init__(self, registry: Registry, loaded: Loaded, commands: tuple[EntryPoint, ...] = ()) -> None:
        self.registry, self.loaded, self.commands = registry, loaded, commands

    @property
    def name(self) -> str:
        return self.loaded.origin.name

    def __str__(self) -> str:
        return f"{self.name} ({self.loaded.origin.source})"

    @cached_property
    def brought(self) -> tuple[Brought, ...]:
        return tuple(value for value in self.registry.collect() if value.origin is self.loaded.origin)

    def of_kind(self, kind: str) -> list[Any]:
        return [value.value for value in self.brought if value.kind == kind]

    @property
    def generations(self) -> list[Generation]:
        return self.of_kind("generation")

    @property
    def kernels(self) -> list[Kernel]:
        """Its own, with what other plugins add to them."""
        return [self.registry.kernels[kernel.name] for kernel in self.of_kind("kernel")]

    @property
    def varied(self) -> dict[str, tuple[str, ...]]:
        """Kernels of others that it adds implementations to, and their references."""
        sources: dict[str, tuple[str, ...]] = {}
        for variant in self.of_kind("variant"):
            sources[variant.kernel] = (*sources.get(variant.kernel, ()), variant.source)
        return sources

    @cached_property
    def systems(self) -> tuple[System, ...]:
        """Its own instances; sizable ones as two parents, the smallest that has a network."""
        return tuple(
            self.registry.system(f"{instance.name}:2" if instance.sizable else instance.name)
            for generation in self.generations
            for instance in generation.instances
        )


class _Project(NamedTuple):
    found: tuple[Discovered, ...]
    commands: tuple[EntryPoint, ...]
    folders: tuple[Path, ...]


@contextmanager
def subjects(what: str = "", block: Iterable[str] = ()) -> Iterator[tuple[Subject, ...]]:
    """The plugins that `what` names: a plugin, a distribution, a path; every installed one for "".

    A project that is not installed is importable inside the block. Raises `UnknownName`,
    `MissingFile` and `BadInput`.
    """
    path = Path(what)
    installed = {
        normalised(name) for entry in entry_points((GROUP,)) for name in (entry.name, entry.distribution)
    }
    # A folder may be called like the plugin installed from it: a bare name is the plugin.
    by_path = bool(what) and normalised(what) not in installed
    by_path = by_path and (path.exists() or "/" in what or what.endswith(".py"))
    project = _project(path) if by_path else _Project((), (), ())
    added = [str(folder) for folder in project.folders]
    sys.path[:0] = added
    try:
        registry = load_registry(block=[*block, *_installed_twice(project)], extra=project.found)
        own = {id(discovered.origin) for discovered in project.found}
        commands = list(project.commands if by_path else entry_points((COMMAND_GROUP,)))
        chosen: list[Subject] = []
        for loaded in registry.loaded:
            origin = loaded.origin
            names = {normalised(origin.name), normalised(origin.distribution)}
            if id(origin) in own if by_path else not what or normalised(what) in names:
                # A distribution's commands are checked once, with the first of its plugins.
                own_commands = [entry for entry in commands if entry.distribution == origin.distribution]
                commands = [entry for entry in commands if entry.distribution != origin.distribution]
                chosen.append(Subject(registry, loaded, tuple(own_commands)))
        if not chosen:
            known = {loaded.origin.name for loaded in registry.loaded}
            raise UnknownName("plugin", what, known, try_="trnbench plugin list, or a path: ./my-plugin")
        yield tuple(chosen)
    finally:
        for folder in added:
            if folder in sys.path:
                sys.path.remove(folder)


def _installed_twice(project: _Project) -> list[str]:
    """Distributions that are installed and checked from their folder too: the folder counts."""
    own = {normalised(discovered.origin.distribution) for discovered in project.found}
    return [point.distribution for point in entry_points((GROUP,)) if normalised(point.distribution) in own]


def _project(path: Path) -> _Project:
    if not path.exists():
        raise MissingFile(f"{path} does not exist", try_="trnbench plugin check ./my-plugin")
    if path.is_file():
        if path.suffix != ".py":
            raise BadInput(
                f"{path} is no plugin", cause="a plugin is a module, or a project with a pyproject.toml"
            )
        entry = EntryPoint(GROUP, path.stem, path.stem, path.stem, "0")
        return _Project((Discovered.of(entry),), (), (path.resolve().parent,))
    file = path / "pyproject.toml"
    try:
        project = read_toml(file).get("project", {})
    except MissingFile:
        raise MissingFile(
            f"{path} has no pyproject.toml", try_="trnbench plugin new NAME   writes a project"
        ) from None
    name, version = str(project.get("name", path.name)), str(project.get("version", "0"))
    groups = project.get("entry-points", {})
    plugins = [EntryPoint(GROUP, key, ref, name, version) for key, ref in groups.get(GROUP, {}).items()]
    if not plugins:
        raise BadInput(
            f"{file} names no plugin",
            cause=f"it has no [project.entry-points.{GROUP}]",
            try_=f'[project.entry-points.{GROUP}] on one line, then {name} = "package.module"',
        )
    named = groups.get(COMMAND_GROUP, {}).items()
    root = path.resolve()
    return _Project(
        tuple(map(Discovered.of, plugins)),
        tuple(EntryPoint(COMMAND_GROUP, key, ref, name, version) for key, ref in named),
        tuple(folder for folder in (root / "src", root) if folder.is_dir()),
    )
