"""A reader of fact books and costs that counts how often it reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trnbench.facts.book import FactBook
from trnbench.registry.reading import Anew


class Counting(Anew):
    """Counts what is read."""

    def __init__(self) -> None:
        self.read = 0

    def book(self, paths: Sequence[Path]) -> FactBook:
        self.read += 1
        return super().book(paths)

    def costs(self, path: Path) -> dict[str, Any]:
        self.read += 1
        return super().costs(path)
