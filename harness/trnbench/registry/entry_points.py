"""Entry points of installed distributions, for the start-up budget.

`importlib.metadata` finds the same ones, but importing it costs as much as all the rest of
`trnbench --help` (it brings the e-mail parser, zipfile and csv along). It is still what answers
where something other than plain folders is on `sys.path`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

NO_EXTERNAL = "TRNBENCH_NO_EXTERNAL_PLUGINS"
OWN = "trnbench"  # the distribution whose plugins are built in

_FOLDERS = (".dist-info", ".egg-info")
_ENTRY = re.compile(r"([^=]+?)\s*=\s*([\w.]+)\s*(:\s*[\w.]+)?\s*(?:\[.*\])?")


class EntryPoint(NamedTuple):
    """One line of a distribution's entry_points.txt."""

    group: str
    name: str
    value: str  # "package.module" or "package.module:object"
    distribution: str
    version: str

    def load(self) -> Any:
        """Import and return what it names. May raise anything the module raises."""
        from importlib import import_module

        if normalised(self.distribution) != OWN:
            from trnbench.isolation.ending import others_loaded

            others_loaded(self.distribution)
        module, _, attribute = self.value.partition(":")
        target: Any = import_module(module)
        for part in filter(None, attribute.split(".")):
            target = getattr(target, part)
        return target


def enabled(variable: str) -> bool:
    """Whether an on/off environment variable is on."""
    return os.environ.get(variable, "").strip().lower() not in ("", "0", "no", "false", "off")


def normalised(name: str) -> str:
    """Distribution names compare without case, and with "-", "_" and "." alike."""
    return re.sub(r"[-_.]+", "-", name).lower()


def entry_points(groups: Collection[str]) -> list[EntryPoint]:
    """All entry points of `groups`; of a distribution found twice, the first on `sys.path` counts."""
    if any(os.path.isfile(path) for path in sys.path):
        return list(_by_metadata(groups))
    found: list[EntryPoint] = []
    seen: set[str] = set()
    for path in sys.path:
        try:
            # Sorted, so that two versions side by side give the same answer everywhere.
            names = sorted(name for name in os.listdir(path or ".") if name.endswith(_FOLDERS))
        except OSError:
            continue
        for folder in names:
            key = normalised(folder.rpartition(".")[0].partition("-")[0])
            if key not in seen:
                seen.add(key)
                found += _read(os.path.join(path, folder), groups)
    return found


def _read(folder: str, groups: Collection[str]) -> Iterator[EntryPoint]:
    try:
        with open(os.path.join(folder, "entry_points.txt"), encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return
    if not any(f"[{group}]" in text for group in groups):
        return
    distribution, version = _identity(folder)
    group = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            group = line.strip("[]").strip()
        elif group in groups and (match := _ENTRY.fullmatch(line)) and line[0] not in "#;":
            value = match[2] + (match[3] or "").replace(" ", "")
            yield EntryPoint(group, match[1], value, distribution, version)


def _identity(folder: str) -> tuple[str, str]:
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


def _by_metadata(groups: Collection[str]) -> Iterator[EntryPoint]:
    from importlib import metadata

    for group in groups:
        for entry in metadata.entry_points(group=group):
            name = entry.dist.name if entry.dist else "(unknown distribution)"
            version = (entry.dist.version if entry.dist else "") or ""
            value = entry.value.partition("[")[0].replace(" ", "")
            yield EntryPoint(group, entry.name, value, name, version)
