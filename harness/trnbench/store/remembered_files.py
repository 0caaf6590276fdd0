"""What files say, as it was read before where neither they nor their reader have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import msgspec

from trnbench.digest import digest_of
from trnbench.facts.book import FactBook
from trnbench.registry.files import Files
from trnbench.registry.reading import Anew, Reading
from trnbench.store.cache import Cache
from trnbench.store.source_digest import packages_digest

_READERS = ("trnbench.facts", "trnbench.bounded")
"""Packages that make books and tables of files, and refuse them."""

T = TypeVar("T")


class RememberedFiles:
    """Books and cost tables by the contents of their files. Only what was read well is kept."""

    def __init__(self, cache: Cache, anew: Reading | None = None) -> None:
        self._cache, self._anew = cache, anew or Anew()
        self._together = False

    @contextmanager
    def together(self) -> Iterator[None]:
        """The file is opened once."""
        self._together = True
        try:
            yield
        finally:
            self._together = False
            self._cache.close()

    def book(self, files: Files) -> FactBook:
        """Raises what `load_book` raises."""
        return self._remembered("book", files, FactBook, lambda: self._anew.book(files))

    def costs(self, file: Files) -> dict[str, Any]:
        """Raises what `load_costs` raises."""
        return self._remembered("costs", file, dict[str, Any], lambda: self._anew.costs(file))

    def other(self, kind: str, file: Files, type_: type[T], read: Callable[[], T], by: Sequence[str]) -> T:
        """Raises what `read` raises."""
        return self._remembered(kind, file, type_, lambda: self._anew.other(kind, file, type_, read, by), by)

    def _remembered(
        self,
        kind: str,
        files: Files,
        type_: type[T],
        read: Callable[[], T],
        by: Sequence[str] = (),
    ) -> T:
        key = digest_of(kind, packages_digest((*_READERS, *by)), files.digest)
        try:
            content = self._cache.get(key)
            if content is not None:
                with suppress(msgspec.MsgspecError, UnicodeDecodeError):  # else it is read anew
                    return msgspec.msgpack.decode(content, type=type_)
            found = read()
            content = msgspec.msgpack.encode(found)
            # TOML has dates, which would come back as text.
            if files.steady and _comes_back(found, content, type_):
                self._cache.put(key, content)
            return found
        finally:
            # Commands carry cases out in copies of their process, and no connection survives that.
            if not self._together:
                self._cache.close()


def _comes_back(found: T, content: bytes, type_: type[T]) -> bool:
    again = msgspec.msgpack.decode(content, type=type_)
    return again == found and msgspec.msgpack.encode(again) == content
