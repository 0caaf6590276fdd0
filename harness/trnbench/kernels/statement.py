"""What a document says that a kernel puts to the test."""

from __future__ import annotations

import msgspec


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """`source` is the id of a source in the facts of the generation that the kernel is written for, `locator`
    the place in it; `says` is its content in words of our own, with the number where it gives one.
    """

    source: str
    locator: str
    says: str

    def __str__(self) -> str:
        return f"{self.source}, {self.locator}: {self.says}"
