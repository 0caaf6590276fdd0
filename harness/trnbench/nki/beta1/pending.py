"""The instruction whose result nobody has named yet.

Beta 1 calls return a tile; `tile[…] = call(…)` writes into that tile without a copy. So a call is kept
back until what comes next shows where its result goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trnbench.nki import site
from trnbench.nki.memory import Buffer
from trnbench.nki.recorder_state import STATE

if TYPE_CHECKING:
    from trnbench.nki.beta1.root import Root
    from trnbench.nki.beta1.tile import Tile

ON_CHIP = (Buffer.SBUF, Buffer.PSUM)


class Pending:
    """`into` are the buffers it can write to. `exact`: its destination must have the result's own data
    type. `adding`: it can add to what PSUM holds. `place`: the file and line of its call.
    """

    __slots__ = ("_add", "_issue", "adding", "exact", "into", "place", "root")

    def __init__(
        self,
        root: Root,
        issue: Callable[[Tile], None],
        into: tuple[Buffer, ...],
        exact: bool,
        adds: Callable[[Tile], None] | None,
    ) -> None:
        self.root = root
        self._issue = issue
        self.into = into
        self.exact = exact
        self._add = adds
        self.adding = adds is not None
        frame = site.caller()
        self.place = (frame.f_code.co_filename, frame.f_lineno)

    def issue(self, dst: Tile) -> None:
        """Carry the instruction out."""
        self._at_its_place(self._issue, dst)

    def add(self, dst: Tile) -> None:
        """Carry it out so that it adds to `dst`."""
        assert self._add is not None
        self._at_its_place(self._add, dst)

    def _at_its_place(self, call: Callable[[Tile], None], dst: Tile) -> None:
        before = STATE.place
        STATE.place = self.place
        try:
            call(dst)
        finally:
            STATE.place = before


class _Slot:
    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held: Pending | None = None


SLOT = _Slot()


def settle() -> None:
    """Issue what was kept back, into a tile of its own."""
    held = SLOT.held
    if held is not None:
        from trnbench.nki.beta1.tile import Tile

        SLOT.held = None
        held.issue(Tile.of(held.root))


def taken(value: Any) -> Pending | None:
    """The pending instruction that `value` is the result of; it is then the caller's to issue."""
    held = SLOT.held
    if held is None or getattr(value, "root", None) is not held.root:
        return None
    SLOT.held = None
    return held


def later(
    shape: tuple[int, ...],
    dtype: Any,
    issue: Callable[[Tile], None],
    *,
    buffer: Buffer = Buffer.SBUF,
    into: tuple[Buffer, ...] = ON_CHIP,
    exact: bool = False,
    adds: Callable[[Tile], None] | None = None,
) -> Tile:
    """The result of an instruction that is kept back."""
    from trnbench.nki.beta1.root import Root
    from trnbench.nki.beta1.tile import Tile

    settle()
    root = Root(shape, 0, dtype, buffer)
    SLOT.held = Pending(root, issue, into, exact, adds)
    return Tile.of(root)
