"""One part of a plan of several: `--shard 2/8` carries out every eighth case, from the second on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from trnbench.errors import UsageError
from trnbench.quoting import quoted

T = TypeVar("T")

MOST = 100_000
"""Parts of a plan; no plan has as many cases."""

_SHARD = r"([0-9]{1,6})/([0-9]{1,6})"


class Shard(NamedTuple):
    """Number `number`, counted from 1, of `parts`."""

    number: int
    parts: int

    def of(self, cases: Sequence[T]) -> tuple[T, ...]:
        """Its part, in order. No two parts have a case in common, and all of them together have every one.

        Neighbours in a plan take about as long as each other, so they are dealt like cards.
        """
        return tuple(cases[self.number - 1 :: self.parts])


def parse_shard(text: str) -> Shard:
    """`2/8` as typed. Raises `UsageError`."""
    match = re.fullmatch(_SHARD, text)
    shard = Shard(int(match[1]), int(match[2])) if match else Shard(0, 0)
    if not 1 <= shard.number <= shard.parts <= MOST:
        raise UsageError(
            f"--shard {quoted(text)} is no part of a plan",
            cause=f"it is the number of the part, from 1 on, and of how many: up to {MOST:,}",
            try_="--shard 1/8",
        )
    return shard
