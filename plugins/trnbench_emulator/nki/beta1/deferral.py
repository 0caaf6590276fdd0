"""The call whose result nobody has named yet, and the rounds of unrolled loops.

A Beta 1 call returns a tile; `tile[…] = call(…)` writes into that tile without a copy. So a call is deferred
until what comes next shows where its result goes. Each round of nl.static_range is code of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import msgspec

from trnbench_emulator.nki.recording import STATE
from trnbench_emulator.nki.site import Place, Places

if TYPE_CHECKING:
    from trnbench_emulator.nki.memory import Buffer


class Pending(msgspec.Struct, eq=False):
    """`into` are the buffers it can write to. `exact`: its destination must have the result's own data
    type. `adds`: carries it out so that it adds to what PSUM holds. `place`: the file and line of its call.
    `result`: the tile that the call returned, all of its root. `transfer`: a DMA carries it out.
    """

    result: Any
    call: Callable[[Any], None]
    into: tuple[Buffer, ...]
    exact: bool
    adds: Callable[[Any], None] | None
    place: Place
    transfer: bool = False

    def issue(self, dst: Any) -> None:
        """Carry the instruction out."""
        before = STATE.place
        STATE.place = self.place
        try:
            self.call(dst)
        finally:
            STATE.place = before

    def add_to(self, dst: Any) -> None:
        """Carry it out so that it adds to what `dst` in PSUM holds: the result gets no tile then."""
        assert self.adds is not None
        self.call = self.adds
        self.result.root.total = repr(dst)
        self.issue(dst)


OUTSIDE = Places()
"""Of calls outside a recording."""


def line_of(frame: FrameType) -> Place:
    """The kernel's line that led to `frame`."""
    return (OUTSIDE if STATE.recorder is None else STATE.recorder.places).of(frame)


class _Slot(msgspec.Struct):
    held: Pending | None = None


SLOT = _Slot()


def settle() -> None:
    """Issue what was kept back, into a tile of its own."""
    held = SLOT.held
    if held is not None:
        SLOT.held = None
        held.issue(held.result)


def taken(value: Any) -> Pending | None:
    """The pending instruction that `value` is the result of; it is then the caller's to issue."""
    held = SLOT.held
    if held is None or getattr(value, "root", None) is not held.result.root:
        return None
    SLOT.held = None
    return held


ROUNDS: list[int] = []
"""Rounds of the unrolled loops under way, outermost first."""


def counted(start: int, stop: int | None, step: int) -> range:
    """The numbers of a loop, whatever kinds of number its ends are."""
    return range(int(start)) if stop is None else range(int(start), int(stop), step)


class static_range(Sequence[int]):  # noqa: N801 - called like the function it stands for
    """Its numbers, as of `range`."""

    def __init__(self, start: int, stop: int | None = None, step: int = 1, **_: Any) -> None:
        self._numbers = counted(start, stop, step)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, at: Any) -> Any:
        return self._numbers[at]

    def __iter__(self) -> Iterator[int]:
        depth = len(ROUNDS)
        try:
            for number in self._numbers:
                settle()
                ROUNDS[depth:] = [number]
                yield number
        finally:
            settle()
            del ROUNDS[depth:]
