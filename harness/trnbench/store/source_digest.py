"""Digests of what answers are worked out with: the text of packages and of files."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from trnbench.store.cache import digest_of


def packages_digest(names: Iterable[str]) -> bytes:
    """Over every Python file of the packages and modules named, those of packages in them included.

    One that cannot be found counts as missing. Each is read once in a process.
    """
    return digest_of(*(part for name in sorted(set(names)) for part in (name, _package_digest(name))))


@cache
def _package_digest(name: str) -> bytes:
    told = hashlib.sha256()
    for root, path in _sources(name):
        told.update(path.relative_to(root).as_posix().encode() + b"\0")
        content = path.read_bytes()
        told.update(len(content).to_bytes(8, "little"))
        told.update(content)
    return told.digest()


def _sources(name: str) -> Iterator[tuple[Path, Path]]:
    origin = getattr(sys.modules.get(name), "__file__", None)
    if origin is None:
        with suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(name)
            origin = spec.origin if spec is not None else None
    if not origin:
        return
    path = Path(origin)
    if path.name != "__init__.py":
        yield path.parent, path
        return
    for source in sorted(path.parent.rglob("*.py")):
        yield path.parent, source


def package_of(reference: object) -> str:
    """The outermost package of what a reference names, or of the function that stands in its place."""
    module = reference if isinstance(reference, str) else getattr(reference, "__module__", "")
    return str(module).partition(":")[0].partition(".")[0]


def files_digest(paths: Iterable[Path]) -> bytes:
    """Over names and contents, line ends apart. Raises `OSError` for one that cannot be read."""
    parts: list[bytes | str] = []
    for path in paths:
        parts += [path.name, path.read_bytes().replace(b"\r\n", b"\n")]
    return digest_of(*parts)
