"""What is installed beside us and its entry points, read from the folders of distributions.

`importlib.metadata` finds the same, and brings the e-mail parser, zipfile and csv along: three starts of
Python. It is still what answers where something other than plain folders is on `sys.path`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

NO_EXTERNAL = "TRNBENCH_NO_EXTERNAL_PLUGINS"
OWN = "trnbench"  # the distribution whose plugins are built in

GROUPS = ("trnbench", "trnbench.commands", "trnbench.api")
"""Of entry points that bring code."""

_FOLDERS = (".dist-info", ".egg-info")


def normalised(name: str) -> str:
    """Distribution names compare without case, and with "-", "_" and "." alike."""
    return re.sub(r"[-_.]+", "-", name).lower()


def folders() -> Iterator[tuple[str, str]]:
    """Every distribution's name, normalised, and its folder, in the order of `sys.path`: of a name that is
    there twice, the first counts."""
    for path in sys.path:
        try:
            # Sorted, so that two versions side by side give the same answer everywhere.
            names = sorted(name for name in os.listdir(path or ".") if name.endswith(_FOLDERS))
        except OSError:
            continue
        for name in names:
            yield normalised(name.rpartition(".")[0].partition("-")[0]), os.path.join(path, name)


def identity(folder: str) -> tuple[str, str]:
    """Name and version as the distribution writes them; else as its folder is called."""
    stem, _, version = os.path.splitext(os.path.basename(folder))[0].partition("-")
    fields = {"name": stem, "version": version}
    for metadata in ("METADATA", "PKG-INFO"):
        try:
            with open(os.path.join(folder, metadata), encoding="utf-8", errors="replace") as file:
                for line in file:
                    key, colon, value = line.partition(":")
                    if not colon:  # the header ends at the first empty line
                        break
                    if key.lower() in fields:
                        fields[key.lower()] = value.strip()
            break
        except OSError:
            continue
    return fields["name"], fields["version"]


def versions(names: Collection[str]) -> dict[str, str]:
    """Those of `names` that are installed, in their order, each with its version."""
    if any(os.path.isfile(path) for path in sys.path):
        return _versions_by_metadata(names)
    wanted = {normalised(name): name for name in names}
    installed: dict[str, str] = {}
    for name, folder in folders():
        if name in wanted and wanted[name] not in installed:
            installed[wanted[name]] = identity(folder)[1]
    return {name: installed[name] for name in names if name in installed}


def _versions_by_metadata(names: Collection[str]) -> dict[str, str]:
    from importlib import metadata

    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


class EntryPoint(NamedTuple):
    """One line of a distribution's entry_points.txt."""

    group: str
    name: str
    value: str  # "package.module" or "package.module:object"
    distribution: str
    version: str

    @property
    def words(self) -> str:
        """What it is called in a message."""
        kind = "command" if self.group == "trnbench.commands" else "plugin"
        return f"{kind} {self.name!r} of {self.distribution} {self.version}".rstrip()

    def load(self) -> Any:
        """Import and return what it names. May raise anything the module raises."""
        from importlib import import_module

        if normalised(self.distribution) != OWN:
            from trnbench.isolation.guard import others_loaded

            others_loaded(self.distribution)
        module, _, attribute = self.value.partition(":")
        target: Any = import_module(module)
        for step in filter(None, attribute.split(".")):
            target = getattr(target, step)
        return target


@cache
def own_packages() -> frozenset[str]:
    """The packages that are released with trnbench: the core, and those of its own plugins. Read once: every
    kernel of a run asks."""
    entries = entry_points(("trnbench",))
    own = (entry.value for entry in entries if normalised(entry.distribution) == OWN)
    return frozenset({OWN, *(value.partition(":")[0].partition(".")[0] for value in own)})


def enabled(variable: str) -> bool:
    """Whether an on/off environment variable is on."""
    return os.environ.get(variable, "").strip().lower() not in ("", "0", "no", "false", "off")


def entry_points(groups: Collection[str]) -> list[EntryPoint]:
    """All entry points of `groups`; of a distribution found twice, the first on `sys.path` counts."""
    if any(os.path.isfile(path) for path in sys.path):
        return list(_entries_by_metadata(groups))
    known = tuple(dict.fromkeys((*GROUPS, *groups)))
    return [entry for entry in _installed(tuple(map(_changed, sys.path)), known) if entry.group in groups]


def _changed(path: str) -> tuple[str, int]:
    """A folder, and when a distribution came to it or went."""
    try:
        return path, os.stat(path or ".").st_mtime_ns
    except OSError:
        return path, 0


@lru_cache(maxsize=1)
def _installed(_: tuple[tuple[str, int], ...], groups: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Entry points of `groups` as the folders have them: a command asks four times."""
    folder_of: dict[str, str] = {}
    for name, folder in folders():
        folder_of.setdefault(name, folder)
    return tuple(entry for folder in folder_of.values() for entry in _entries_of(folder, groups))


def others(trusted: Collection[str] = ()) -> list[EntryPoint]:
    """Plugins and commands that are not trnbench's own, but for those of `trusted` distributions or plugins
    ("all": every one)."""
    if enabled(NO_EXTERNAL):
        return []
    names = set(map(normalised, trusted))
    entries = [point for point in entry_points(GROUPS) if normalised(point.distribution) != OWN]
    listed = {normalised(entry.distribution) for entry in entries if normalised(entry.name) in names} | names
    return (
        [] if "all" in names else [entry for entry in entries if normalised(entry.distribution) not in listed]
    )


def _entries_of(folder: str, groups: Collection[str]) -> Iterator[EntryPoint]:
    try:
        with open(os.path.join(folder, "entry_points.txt"), "rb", buffering=0) as file:
            content = file.read()
    except OSError:
        return
    if not any(f"[{group}]".encode() in content for group in groups):
        return  # most have other groups, and are not worth a decoder
    text = content.decode("utf-8", "replace")
    distribution, version = identity(folder)
    group = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            group = line.strip("[]").strip()
        elif group in groups and line[:1] not in ("", "#", ";"):
            name, _, target = line.partition("=")
            # Behind "[" stand extras that it was once asked to need.
            module, colon, attribute = map(str.strip, target.partition("[")[0].partition(":"))
            if name and _dotted(module) and (_dotted(attribute) or not colon):
                yield EntryPoint(group, name.rstrip(), module + colon + attribute, distribution, version)


def _dotted(name: str) -> bool:
    return all(map(str.isidentifier, name.split(".")))


def _entries_by_metadata(groups: Collection[str]) -> Iterator[EntryPoint]:
    from importlib import metadata

    for group in groups:
        for entry in metadata.entry_points(group=group):
            name = entry.dist.name if entry.dist else "(unknown distribution)"
            version = (entry.dist.version if entry.dist else "") or ""
            value = entry.value.partition("[")[0].replace(" ", "")
            yield EntryPoint(group, entry.name, value, name, version)
