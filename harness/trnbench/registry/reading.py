"""How files are read: once in a process, and again when their contents are others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from trnbench.registry.files import Files

if TYPE_CHECKING:
    from trnbench.facts.book import FactBook

T = TypeVar("T")

_MOST = 64
"""Books and tables kept in a process; those that were read first go first."""

_known: dict[tuple[str, bytes], Any] = {}


class Reading(Protocol):
    """Raises for a file what `trnbench.facts.load` raises."""

    def book(self, files: Files) -> FactBook:
        """The facts of all files as one book."""

    def costs(self, file: Files) -> dict[str, Any]:
        """A cost table as it stands in the file; whoever asks may change it."""

    def other(self, kind: str, file: Files, type_: type[T], read: Callable[[], T], by: Sequence[str]) -> T:
        """What `read` makes of the file; `by`: packages that it does so with. Nobody may change it."""

    def together(self) -> AbstractContextManager[None]:
        """What is asked for inside is asked for in one go."""


class Anew:
    """Every file is parsed and checked."""

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    def book(self, files: Files) -> FactBook:
        from trnbench.facts.load import load_book

        return files.read(lambda: load_book(files.paths))

    def costs(self, file: Files) -> dict[str, Any]:
        from trnbench.facts.load import load_costs

        (path,) = file.paths
        return file.read(lambda: load_costs(path))

    def other(self, kind: str, file: Files, type_: type[T], read: Callable[[], T], by: Sequence[str]) -> T:
        return file.read(read)


class Once:
    """What is read `beyond`, for the first in this process who asks for files of these contents."""

    def __init__(self, beyond: Reading) -> None:
        self._beyond = beyond

    def together(self) -> AbstractContextManager[None]:
        return self._beyond.together()

    def book(self, files: Files) -> FactBook:
        return _once("book", files, self._beyond.book)

    def costs(self, file: Files) -> dict[str, Any]:
        from msgspec import to_builtins

        # Tables and lists are made anew, dates and times of TOML stay what they are.
        kept: dict[str, Any] = to_builtins(
            _once("costs", file, self._beyond.costs), builtin_types=(date, time, datetime)
        )
        return kept

    def other(self, kind: str, file: Files, type_: type[T], read: Callable[[], T], by: Sequence[str]) -> T:
        return _once(kind, file, lambda each: self._beyond.other(kind, each, type_, read, by))


def forget() -> None:
    """The next who asks reads."""
    _known.clear()


def _once(kind: str, files: Files, read: Callable[[Files], T]) -> T:
    key = (kind, files.digest)
    if key in _known:
        known: T = _known[key]
        return known
    found = read(files)
    if files.steady:
        while len(_known) >= _MOST:
            del _known[next(iter(_known))]
        _known[key] = found
    return found
