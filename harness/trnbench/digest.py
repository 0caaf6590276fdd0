"""Digests of values, packages and files, by which work is found again; what is shown has SHA-256."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Protocol

try:  # where hashlib takes it from, after it has loaded all of OpenSSL: half a start of Python
    from _blake2 import blake2b as blake2b
except ImportError:
    from hashlib import blake2b as blake2b

DIGITS = 16
"""Hexadecimal digits of a digest that is shipped: against a mistake, not against an adversary."""
_BYTES = 32


class Hash(Protocol):
    """A digest under way, of hashlib."""

    def update(self, data: bytes, /) -> None: ...


def digest_of(*parts: bytes | str) -> bytes:
    """A key: BLAKE2b over the parts, each with its length."""
    digest = blake2b(digest_size=_BYTES)
    feed(digest, parts)
    return digest.digest()


def short_digest(*parts: bytes | str) -> str:
    """The key of shipped answers, in hexadecimal digits."""
    return digest_of(*parts).hex()[:DIGITS]


def feed(digest: Hash, parts: Iterable[bytes | str]) -> None:
    """Adds the parts to `digest`, each with its length before it."""
    for part in parts:
        content = part.encode("utf-8", "backslashreplace") if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)


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
            feed(told, (stream.read(),))
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
