"""Which facts, assumptions and costs of a system are read while something is worked out on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from trnbench.digest import digest_of
from trnbench.facts.book import FactBook
from trnbench.facts.fact import Fact
from trnbench.generation import System

_WHOLE = ("sources", "facts", "assumptions", "disputes")
"""Fields of a book; what reads one as a whole depends on all of it."""

_COST = ("cost",)

Read = tuple[str, ...]
"""("fact", subject, metric), ("assumption", name), ("cost", section) or ("cost", section, key); ("book",
field) and ("costs",) for the whole of it."""


class Reads:
    """Everything that was read so far, each thing once."""

    def __init__(self) -> None:
        self._read: dict[Read, None] = {}

    def add(self, *read: str) -> None:
        self._read[read] = None

    def __iter__(self) -> Iterator[Read]:
        return iter(sorted(self._read))

    def __len__(self) -> int:
        return len(self._read)


def watched(system: System, reads: Reads) -> System:
    """The same system; what is read of it is added to `reads`. A copy: nothing that was worked out on
    `system` itself is known to it, so that nothing is read behind the back of `reads`."""
    book = system.book
    fields: dict[str, Any] = {name: getattr(book, name) for name in book.__struct_fields__}
    fields["assumptions"] = _Entries(book.assumptions, reads, ("assumption",), ("book", "assumptions"))
    watching = WatchedBook(**fields)
    vars(watching).update(reads=reads, book=book)
    return msgspec.structs.replace(
        system, book=watching, costs=_Entries(system.costs, reads, ("cost",), ("costs",))
    )


def value_of(read: Read, system: System) -> Any:
    """What stands there now."""
    kind, *names = read
    if kind == "fact":
        subject, metric = names
        return list(system.book.select(subject or None, metric or None))
    if kind == "assumption":
        return system.book.assumptions.get(names[0])
    if kind == "book":
        return getattr(system.book, names[0])
    found: Any = system.costs
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def digest_of_values(reads: tuple[Read, ...], system: System) -> bytes:
    """Changes with any value that was read, and with nothing else."""
    parts: list[bytes | str] = []
    for read in reads:
        parts += ["\0".join(read), msgspec.json.encode(value_of(read, system), order="deterministic")]
    return digest_of(*parts)


class WatchedBook(FactBook, frozen=True, kw_only=True, dict=True):
    """A book that tells what it is asked for."""

    def select(
        self, subject: str | None = None, metric: str | None = None, **criteria: Any
    ) -> Iterator[Fact]:
        """As of any book."""
        self._reads().add("fact", subject or "", metric or "")
        return self._unwatched().select(subject, metric, **criteria)

    def merged(self, other: FactBook) -> FactBook:
        """As of any book; the two together are not watched, so all of this one counts as read."""
        for name in self.__struct_fields__:
            self._reads().add("book", name)
        return self._unwatched().merged(other)

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in _WHOLE and name != "assumptions":
            self._reads().add("book", name)
        return found

    def _reads(self) -> Reads:
        found: Reads = vars(self)["reads"]
        return found

    def _unwatched(self) -> FactBook:
        found: FactBook = vars(self)["book"]
        return found


class _Entries(dict[str, Any]):
    """A table that tells which of its entries are asked for, and tables in it likewise. What looks at all of
    it depends on all of it: `whole`."""

    def __init__(self, entries: Mapping[str, Any], reads: Reads, prefix: Read, whole: Read) -> None:
        super().__init__(entries)
        self._told = (reads, prefix, whole)

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def __getitem__(self, key: str) -> Any:
        reads, prefix, _ = self._told
        found = super().get(key)
        if prefix == _COST and isinstance(found, dict):
            return _Entries(found, reads, (*prefix, key), (*prefix, key))
        reads.add(*prefix, str(key))  # that it is missing was read, too
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        found = super().__contains__(key)
        if not found:  # that it is missing was read
            reads, prefix, _ = self._told
            reads.add(*prefix, str(key))
        return found

    def __iter__(self) -> Iterator[str]:
        self._all()
        return super().__iter__()

    def __len__(self) -> int:
        self._all()
        return super().__len__()

    def __bool__(self) -> bool:
        return super().__len__() > 0 if self._told[1] == _COST else len(self) > 0

    def keys(self) -> Any:
        self._all()
        return super().keys()

    def values(self) -> Any:
        self._all()
        return super().values()

    def items(self) -> Any:
        self._all()
        return super().items()

    def __eq__(self, other: object) -> bool:
        self._all()
        return super().__eq__(other)

    __hash__ = None

    def _all(self) -> None:
        reads, _, whole = self._told
        reads.add(*whole)
