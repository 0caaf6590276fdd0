"""What is installed beside us, read from the folders of distributions.

`importlib.metadata` finds the same, and brings the e-mail parser, zipfile and csv along: three starts of
Python. It is still what answers where something other than plain folders is on `sys.path`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator

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
        return _by_metadata(names)
    wanted = {normalised(name): name for name in names}
    installed: dict[str, str] = {}
    for name, folder in folders():
        if name in wanted and wanted[name] not in installed:
            installed[wanted[name]] = identity(folder)[1]
    return {name: installed[name] for name in names if name in installed}


def _by_metadata(names: Collection[str]) -> dict[str, str]:
    from importlib import metadata

    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
