"""Digests of what answers are worked out with: the text of packages and of files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from trnbench.digest import blake2b, digest_of, feed


def packages_digest(names: Iterable[str]) -> bytes:
    """Over every Python file of the packages and modules named, those of packages in them included.

    One that cannot be found counts as missing. Each is read once in a process.
    """
    return digest_of(*(part for name in sorted(set(names)) for part in (name, package_digest(name))))


@cache
def package_digest(name: str) -> bytes:
    """Over the bytes of every Python file of one package or module."""
    told = blake2b()
    for place, path in sources(name):
        told.update(place.encode() + b"\0")
        with open(path, "rb", buffering=0) as stream:
            content = stream.read()
        told.update(len(content).to_bytes(8, "little"))
        told.update(content)
    return told.digest()


def sources(name: str) -> Iterator[tuple[str, str]]:
    """Each file by its place in the package, and where it is."""
    origin = getattr(sys.modules.get(name), "__file__", None)
    if origin is None:
        from importlib.util import find_spec

        with suppress(ImportError, ValueError):
            spec = find_spec(name)
            origin = spec.origin if spec is not None else None
    if not origin:
        return
    folder, file = os.path.split(origin)
    if file == "__init__.py":
        yield from _python_files(folder)
    else:
        yield file, origin


def _python_files(folder: str, place: str = "") -> Iterator[tuple[str, str]]:
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name.endswith(".py"):
            yield f"{place}{entry.name}", entry.path
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _python_files(entry.path, f"{place}{entry.name}/")


def package_of(reference: object) -> str:
    """The outermost package of what a reference names, or of the function that stands in its place."""
    module = reference if isinstance(reference, str) else getattr(reference, "__module__", "")
    return str(module).partition(":")[0].partition(".")[0]


def files_digest(paths: Iterable[Path]) -> bytes:
    """SHA-256 over names and contents, line ends apart. Raises `OSError` for one that cannot be read."""
    import hashlib

    told = hashlib.sha256()
    for path in paths:
        feed(told, (path.name, path.read_bytes().replace(b"\r\n", b"\n")))
    return told.digest()
