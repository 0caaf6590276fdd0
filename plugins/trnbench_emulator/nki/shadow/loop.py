"""Loops of affine_range: which instructions belong to the round under way, and which to earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Loop:
    """One under way. `begin` and `round`: the first instruction of it, and of its present round. `sums`:
    instructions that left what is added up, multiplied or compared over its rounds."""

    __slots__ = ("begin", "round", "sums")

    def __init__(self, number: int) -> None:
        self.begin = self.round = number
        self.sums: set[int] = set()


class Independent(Sequence[int]):
    """Numbers of a loop whose rounds do not depend on each other; `loops` and `writes` are of a `Shadow`.
    `between` is called before each round."""

    __slots__ = ("between", "loops", "numbers", "writes")

    def __init__(
        self,
        numbers: Sequence[int],
        loops: list[Loop],
        writes: Sequence[Any],
        between: Callable[[], None] | None = None,
    ) -> None:
        self.numbers, self.loops, self.writes, self.between = numbers, loops, writes, between

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, position: Any) -> Any:
        return self.numbers[position]

    def __iter__(self) -> Iterator[int]:
        loops, writes = self.loops, self.writes
        if self.between is not None:
            self.between()
        loop = Loop(len(writes))
        loops.append(loop)
        try:
            for number in self.numbers:
                if self.between is not None:
                    self.between()
                loop.round = len(writes)
                yield number
        finally:
            if loop in loops:  # loops that were left by `break` end with the one around them
                del loops[loops.index(loop) :]
