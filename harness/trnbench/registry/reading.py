"""How fact and cost files are read: once in a process, and again when their contents are others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from trnbench.bounded.file import TABLE, read_file

if TYPE_CHECKING:
    from trnbench.facts.book import FactBook

T = TypeVar("T")

_MOST = 64
"""Books and tables kept in a process; those that were read first go first."""

_known: dict[bytes, Any] = {}


class Reading(Protocol):
    """Raises for a file what `trnbench.facts.load` raises."""

    def book(self, paths: Sequence[Path]) -> FactBook:
        """The facts of all files as one book."""

    def costs(self, path: Path) -> dict[str, Any]:
        """A cost table as it stands in the file; whoever asks may change it."""


class Anew:
    """Every file is parsed and checked."""

    def book(self, paths: Sequence[Path]) -> FactBook:
        from trnbench.facts.load import load_book

        return load_book(paths)

    def costs(self, path: Path) -> dict[str, Any]:
        from trnbench.facts.load import load_costs

        return load_costs(path)


class Once:
    """What is read `beyond`, for the first in this process who asks for files of these contents."""

    def __init__(self, beyond: Reading) -> None:
        self._beyond = beyond

    def book(self, paths: Sequence[Path]) -> FactBook:
        return _once("book", paths, lambda: self._beyond.book(paths))

    def costs(self, path: Path) -> dict[str, Any]:
        kept: dict[str, Any] = _copied(_once("costs", (path,), lambda: self._beyond.costs(path)))
        return kept


def forget() -> None:
    """The next who asks reads."""
    _known.clear()


def _once(kind: str, paths: Sequence[Path], read: Callable[[], T]) -> T:
    key = _digest(kind, paths)
    if key in _known:
        known: T = _known[key]
        return known
    found = read()
    if _digest(kind, paths) == key:  # a file may have changed while it was read
        while len(_known) >= _MOST:
            del _known[next(iter(_known))]
        _known[key] = found
    return found


def _digest(kind: str, paths: Sequence[Path]) -> bytes:
    from hashlib import sha256

    told = sha256(kind.encode())
    for path in paths:
        content = read_file(path, most=TABLE)
        told.update(len(content).to_bytes(8, "little") + content)
    return told.digest()


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list) else value
