"""nl.static_range: a loop that is unrolled, so that each of its rounds is code of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trnbench_emulator.nki.beta1.pending import settle

ROUNDS: list[int] = []
"""Rounds of the unrolled loops under way, outermost first."""


class static_range(Sequence[int]):  # noqa: N801 - called like the function it stands for
    """Its numbers, as of `range`."""

    def __init__(self, start: int, stop: int | None = None, step: int = 1, **_: Any) -> None:
        self._numbers = range(int(start)) if stop is None else range(int(start), int(stop), step)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, at: Any) -> Any:
        return self._numbers[at]

    def __iter__(self) -> Iterator[int]:
        depth = len(ROUNDS)
        try:
            for each in self._numbers:
                settle()
                ROUNDS[depth:] = [each]
                yield each
        finally:
            settle()
            del ROUNDS[depth:]
