"""Where a case runs: which processors, which BLAS, how many threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from trnbench_host.threads import Blas, Crew


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The processors a case is kept on, and what the BLAS was told."""

    processors: tuple[int, ...]
    blas: Blas

    @property
    def threads(self) -> int:
        return len(self.processors)

    def describe(self) -> dict[str, str | int | float | bool]:
        return {
            "processors": ",".join(map(str, self.processors)),
            "threads": self.threads,
            "blas": self.blas.library,
            "blas_threads_asked": self.blas.asked,
            "blas_threads": self.blas.threads,
            "blas_pinned": self.blas.pinned,
        }

    def at_once(
        self, calls: Sequence[Callable[[], Any]]
    ) -> tuple[Callable[[], None], Callable[[], None], Callable[[], None] | None]:
        """`at_once` on these processors."""
        return at_once(self.processors, calls)


def at_once(
    processors: Sequence[int], calls: Sequence[Callable[[], Any]]
) -> tuple[Callable[[], None], Callable[[], None], Callable[[], None] | None]:
    """(all calls at once, as many empty ones, what ends the threads); one call needs no thread."""
    if len(calls) == 1:
        return calls[0], _nothing, None
    crew = Crew(processors)
    orders, none = tuple(calls), (_nothing,) * len(calls)
    return (lambda: crew.run(orders)), (lambda: crew.run(none)), crew.close


def _nothing() -> None:
    return None
