"""How files are read: once in a process, and again when their contents are others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import date, datetime, time
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

    def other(self, kind: str, path: Path, type_: type[T], read: Callable[[], T], by: Sequence[str]) -> T:
        """What `read` makes of the file; `by`: packages that it does so with. Nobody may change it."""

    def together(self) -> AbstractContextManager[None]:
        """What is asked for inside is asked for in one go."""


class Anew:
    """Every file is parsed and checked."""

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    def book(self, paths: Sequence[Path]) -> FactBook:
        from trnbench.facts.load import load_book

        return load_book(paths)

    def costs(self, path: Path) -> dict[str, Any]:
        from trnbench.facts.load import load_costs

        return load_costs(path)

    def other(self, kind: str, path: Path, type_: type[T], read: Callable[[], T], by: Sequence[str]) -> T:
        return read()


class Once:
    """What is read `beyond`, for the first in this process who asks for files of these contents."""

    def __init__(self, beyond: Reading) -> None:
        self._beyond = beyond

    def together(self) -> AbstractContextManager[None]:
        return self._beyond.together()

    def book(self, paths: Sequence[Path]) -> FactBook:
        return _once("book", paths, lambda: self._beyond.book(paths))

    def costs(self, path: Path) -> dict[str, Any]:
        from msgspec import to_builtins

        # Tables and lists are made anew, dates and times of TOML stay what they are.
        kept: dict[str, Any] = to_builtins(
            _once("costs", (path,), lambda: self._beyond.costs(path)), builtin_types=(date, time, datetime)
        )
        return kept

    def other(self, kind: str, path: Path, type_: type[T], read: Callable[[], T], by: Sequence[str]) -> T:
        return _once(kind, (path,), lambda: self._beyond.other(kind, path, type_, read, by))


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
