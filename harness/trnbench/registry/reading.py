"""How fact and cost files are read: anew, unless somebody remembers what they say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from trnbench.facts.book import FactBook


class Reading(Protocol):
    """Raises for a file what `trnbench.facts.load` raises."""

    def book(self, paths: Sequence[Path]) -> FactBook:
        """The facts of all files as one book."""

    def costs(self, path: Path) -> dict[str, Any]:
        """A cost table as it stands in the file."""


class Anew:
    """Every file is parsed and checked."""

    def book(self, paths: Sequence[Path]) -> FactBook:
        from trnbench.facts.load import load_book

        return load_book(paths)

    def costs(self, path: Path) -> dict[str, Any]:
        from trnbench.facts.load import load_costs

        return load_costs(path)
