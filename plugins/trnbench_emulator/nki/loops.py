"""Sinks that are told of a kernel's loops."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Folds(Protocol):
    """A sink that can go on by itself with rounds that repeat; see `Builder.skip`. It is told of a loop that
    may be such a one: that it begins, before each round, and when it is not looked at any more."""

    def watch(self) -> None: ...
    def round(self) -> None: ...
    def unwatch(self) -> None: ...
    def skip(self, period: int, times: int, most: int) -> tuple[int, int]: ...
