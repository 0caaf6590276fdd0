"""The result of an instruction that is kept back until what comes next shows where it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trnbench_emulator.nki.beta1.pending import SLOT, Pending, settle
from trnbench_emulator.nki.beta1.root import Root
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.memory import Buffer

_ON_CHIP = (Buffer.SBUF, Buffer.PSUM)


def later(
    shape: tuple[int, ...],
    dtype: Any,
    issue: Callable[[Tile], None],
    *,
    buffer: Buffer = Buffer.SBUF,
    into: tuple[Buffer, ...] = _ON_CHIP,
    exact: bool = False,
    adds: Callable[[Tile], None] | None = None,
) -> Tile:
    """A tile of this shape and type in `buffer`, which `issue` fills; see `Pending` for the others."""
    settle()
    root = Root(shape, 0, dtype, buffer)
    SLOT.held = Pending(root, Tile.of, issue, into, exact, adds)
    return Tile.of(root)
