"""Sinks that are told of a kernel's loops."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Loops(Protocol):
    """A sink that is told of loops: at their beginning, before each round, at their end."""

    def enter(self) -> None: ...
    def round(self) -> None: ...
    def leave(self) -> None: ...


@runtime_checkable
class Folds(Loops, Protocol):
    """A sink that can go on by itself with rounds that repeat; see `Builder.skip`."""

    def watch(self) -> None: ...
    def unwatch(self) -> None: ...
    def skip(self, period: int, times: int, most: int) -> tuple[int, int]: ...
