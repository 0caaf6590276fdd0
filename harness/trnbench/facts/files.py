"""Files of facts and costs: each content is read once in a process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import date, datetime, time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from trnbench.bounded import TABLE, read_file
from trnbench.digest import digest_of

if TYPE_CHECKING:
    from trnbench.facts.fact import FactBook

T = TypeVar("T")


class Files:
    """Looked at once for all who ask what is known of them, and once more where they are read.

    `steady`: whether what was read of them is what the digest stands for; they may change meanwhile.
    """

    def __init__(self, *paths: Path) -> None:
        self.paths = paths
        self.steady = True

    @cached_property
    def digest(self) -> bytes:
        """Over their contents in their order. Raises what `read_file` raises."""
        return self._digest()

    def read(self, reader: Callable[[], T]) -> T:
        """What `reader` makes of them. Raises what it raises, and what `read_file` raises."""
        before = self.digest
        content = reader()
        self.steady = self._digest() == before
        return content

    def _digest(self) -> bytes:
        return digest_of(*(read_file(path, most=TABLE) for path in self.paths))


_MOST = 64
"""Books and tables kept in a process; those that were read first go first."""

_known: dict[tuple[str, bytes], Any] = {}


class Reader(Protocol):
    """Raises for a file what `trnbench.facts.load` raises."""

    def book(self, files: Files) -> FactBook:
        """The facts of all files as one book."""

    def costs(self, file: Files) -> dict[str, Any]:
        """A cost table as it stands in the file; whoever asks may change it."""

    def other(self, kind: str, file: Files, type_: type[T], read: Callable[[], T], by: Sequence[str]) -> T:
        """What `read` makes of the file; `by`: packages that it does so with. Nobody may change it."""

    def together(self) -> AbstractContextManager[None]:
        """What is asked for inside is asked for in one go."""


class Parser:
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


class Memo:
    """Reads contents once in a process, by the reader `beyond`."""

    def __init__(self, beyond: Reader) -> None:
        self._beyond = beyond

    def together(self) -> AbstractContextManager[None]:
        return self._beyond.together()

    def book(self, files: Files) -> FactBook:
        return _once("book", files, self._beyond.book)

    def costs(self, file: Files) -> dict[str, Any]:
        from msgspec import to_builtins

        # Tables and lists are made anew, dates and times of TOML stay what they are.
        costs: dict[str, Any] = to_builtins(
            _once("costs", file, self._beyond.costs), builtin_types=(date, time, datetime)
        )
        return costs

    def other(self, kind: str, file: Files, type_: type[T], read: Callable[[], T], by: Sequence[str]) -> T:
        return _once(kind, file, lambda each: self._beyond.other(kind, each, type_, read, by))


def forget() -> None:
    """Empties the memo: the next file is read again."""
    _known.clear()


def _once(kind: str, files: Files, read: Callable[[Files], T]) -> T:
    key = (kind, files.digest)
    if key in _known:
        earlier: T = _known[key]
        return earlier
    content = read(files)
    if files.steady:
        while len(_known) >= _MOST:
            del _known[next(iter(_known))]
        _known[key] = content
    return content
