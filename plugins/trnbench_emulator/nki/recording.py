"""The recording in progress: what the calls of a kernel, its loops and its tensors see of it."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, Protocol, runtime_checkable

from trnbench_emulator.nki.machine import Machine


@runtime_checkable
class Folds(Protocol):
    """A sink that can go on by itself with rounds that repeat; see `Builder.skip`. It is told of a loop that
    may be such a one: that it begins, before each round, and when it is not looked at any more."""

    def watch(self) -> None: ...
    def round(self) -> None: ...
    def unwatch(self) -> None: ...
    def skip(self, period: int, times: int, most: int) -> tuple[int, int]: ...


class Recording(Protocol):
    """`count` of at most `most` instructions were issued, by program `program`, and `hbm_bytes` allocated.

    `careful`: every operand is looked at. `indirect`: any tensor was addressed at run time so far. `folds`
    is told of loops, None where all rounds are executed. `sites`: what each loop of the text has learned.
    `shadow`: the `Shadow` of the launch, if any.
    """

    machine: Machine
    program: int
    count: int
    most: int
    hbm_bytes: int
    careful: bool
    indirect: bool
    shadow: Any
    folds: Folds | None
    sites: dict[tuple[CodeType, int], Any]

    def left_out(self, instructions: int) -> None: ...


class _State:
    __slots__ = ("assign", "place", "recorder", "watching")

    def __init__(self) -> None:
        self.recorder: Any = None  # a `Recorder`; what it is made of knows it as a `Recording`
        self.place: tuple[str, int] | None = None  # file and line of a call that is carried out later
        self.assign: Callable[[Any, Any], None] | None = None  # what `tile[…] = value` does
        self.watching = 0  # loops whose numbers are `Index`es


STATE = _State()
