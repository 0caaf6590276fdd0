"""A reader of fact books and costs that counts how often it reads."""

from __future__ import annotations

from typing import Any

from trnbench.facts.fact import FactBook
from trnbench.facts.files import Files, Parser


class Counting(Parser):
    """Counts what is read."""

    def __init__(self) -> None:
        self.read = 0

    def book(self, files: Files) -> FactBook:
        self.read += 1
        return super().book(files)

    def costs(self, file: Files) -> dict[str, Any]:
        self.read += 1
        return super().costs(file)
