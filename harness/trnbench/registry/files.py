"""Files that a book or a table is made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from trnbench.bounded.file import TABLE, read_file
from trnbench.digest import digest_of

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
        found = reader()
        self.steady = self._digest() == before
        return found

    def _digest(self) -> bytes:
        return digest_of(*(read_file(path, most=TABLE) for path in self.paths))
