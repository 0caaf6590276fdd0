"""Copies in SBUF."""

from __future__ import annotations

from typing import Any

from trnbench_emulator.nki import isa
from trnbench_emulator.nki.beta1.calls import CALLS
from trnbench_emulator.nki.beta1.deferred import later
from trnbench_emulator.nki.beta1.mask import box_of
from trnbench_emulator.nki.beta1.operation import apply
from trnbench_emulator.nki.beta1.pending import settle
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.dtype import dtype_of
from trnbench_emulator.nki.recorder import current


def copy(src: Any, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """A copy in SBUF; Scalar makes it, as published profiles of such kernels show."""
    if not isinstance(src, Tile):
        return src  # type: ignore[no-any-return]
    settle()
    if current().assumes("engine-choice"):
        return apply("copy", (src,), dtype=dtype, mask=mask)

    def issue(dst: Tile) -> None:
        if box_of(mask, src.shape) is not None:
            isa.tensor_copy(dst.operand(mask), src.operand(mask))

    return later(src.shape, src.dtype if dtype is None else dtype_of(dtype), issue)


CALLS.copy = copy
