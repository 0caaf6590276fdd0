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


class Reader(Protocol):
    """What remembers files beyond this process."""

    def read(
        self, kind: str, files: Files, type_: type[T], parse: Callable[[], T], by: Sequence[str] = ()
    ) -> T:
        """What `parse` makes of the files, and what it raises; `by`: packages that it does so with, beside
        those of facts. Nobody may change it."""

    def together(self) -> AbstractContextManager[None]:
        """What is asked for inside is asked for in one go."""


_MOST = 64
"""Books and tables kept in a process; those that were read first go first."""

_known: dict[tuple[str, bytes], Any] = {}


class Memo:
    """Reads contents once in a process, by the reader `beyond` where there is one."""

    def __init__(self, beyond: Reader | None = None) -> None:
        self._beyond = beyond

    def together(self) -> AbstractContextManager[None]:
        return self._beyond.together() if self._beyond is not None else nullcontext()

    def read(
        self, kind: str, files: Files, type_: type[T], parse: Callable[[], T], by: Sequence[str] = ()
    ) -> T:
        key = (kind, files.digest)
        if key in _known:
            earlier: T = _known[key]
            return earlier
        if self._beyond is not None:
            content = self._beyond.read(kind, files, type_, parse, by)
        else:
            content = files.read(parse)
        if files.steady:
            while len(_known) >= _MOST:
                del _known[next(iter(_known))]
            _known[key] = content
        return content


def forget() -> None:
    """Empties the memo: the next file is read again."""
    _known.clear()


def read_book(reader: Reader, files: Files) -> FactBook:
    """The facts of all files as one book. Raises what `load_book` raises."""
    from trnbench.facts.fact import FactBook

    def parse() -> FactBook:
        from trnbench.facts.load import load_book

        return load_book(files.paths)

    return reader.read("book", files, FactBook, parse)


def read_costs(reader: Reader, path: Path) -> dict[str, Any]:
    """A cost table as it stands in the file; whoever asks may change it. Raises what `load_costs` raises."""
    from msgspec import to_builtins

    def parse() -> dict[str, Any]:
        from trnbench.facts.load import load_costs

        return load_costs(path)

    table = reader.read("costs", Files(path), dict[str, Any], parse)
    # Tables and lists are made anew, dates and times of TOML stay what they are.
    costs: dict[str, Any] = to_builtins(table, builtin_types=(date, time, datetime))
    return costs
