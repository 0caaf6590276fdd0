"""What is asked of numbers of ranks, with one message for each mistake."""

from __future__ import annotations

from collections.abc import Iterable

from trnbench.errors import UsageError
from trnbench_emulator.fabric.algorithms.algorithm import NotPossible


def check_ranks(ranks: Iterable[int], count: int) -> None:
    """Raises UsageError unless all of them are among `count` ranks."""
    for rank in ranks:
        if not 0 <= rank < count:
            raise UsageError(
                f"rank {rank} is not there",
                cause=f"ranks are 0 to {count - 1}",
                try_="one of these, or --ranks core, which makes every core a rank",
            )


def check_several(ranks: int, system: str, level: str) -> None:
    """Raises NotPossible for less than two ranks: they have nothing to send."""
    if ranks < 2:
        raise NotPossible(
            "a collective needs at least 2 ranks",
            cause=f"{system} has {ranks} here, one per {level}",
            try_="--ranks core, or a system of several devices",
        )
