"""The instruction whose result nobody has named yet.

Beta 1 calls return a tile; `tile[…] = call(…)` writes into that tile without a copy. So a call is kept
back until what comes next shows where its result goes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trnbench_emulator.nki.recorder_state import STATE
from trnbench_emulator.nki.site import Places

if TYPE_CHECKING:
    from trnbench_emulator.nki.beta1.root import Root
    from trnbench_emulator.nki.memory import Buffer


class Pending:
    """`into` are the buffers it can write to. `exact`: its destination must have the result's own data
    type. `adding`: it can add to what PSUM holds. `place`: the file and line of its call. `whole`: all of a
    root as a tile.
    """

    __slots__ = ("_add", "_issue", "adding", "exact", "into", "place", "root", "whole")

    def __init__(
        self,
        root: Root,
        whole: Callable[[Root], Any],
        issue: Callable[[Any], None],
        into: tuple[Buffer, ...],
        exact: bool,
        adds: Callable[[Any], None] | None,
    ) -> None:
        self.root = root
        self.whole = whole
        self._issue = issue
        self.into = into
        self.exact = exact
        self._add = adds
        self.adding = adds is not None
        places = _PLACES if STATE.recorder is None else STATE.recorder.places
        self.place = places.of(sys._getframe(2))

    def issue(self, dst: Any) -> None:
        """Carry the instruction out."""
        self._at_its_place(self._issue, dst)

    def add(self, dst: Any) -> None:
        """Carry it out so that it adds to `dst`."""
        assert self._add is not None
        self._at_its_place(self._add, dst)

    def _at_its_place(self, call: Callable[[Any], None], dst: Any) -> None:
        before = STATE.place
        STATE.place = self.place
        try:
            call(dst)
        finally:
            STATE.place = before


_PLACES = Places()
"""Of calls outside a recording."""


class _Slot:
    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held: Pending | None = None


SLOT = _Slot()


def settle() -> None:
    """Issue what was kept back, into a tile of its own."""
    held = SLOT.held
    if held is not None:
        SLOT.held = None
        held.issue(held.whole(held.root))


def taken(value: Any) -> Pending | None:
    """The pending instruction that `value` is the result of; it is then the caller's to issue."""
    held = SLOT.held
    if held is None or getattr(value, "root", None) is not held.root:
        return None
    SLOT.held = None
    return held
