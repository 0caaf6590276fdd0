"""Instructions that move or fill: their destination is given, or a new tile."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

from trnbench_emulator.nki import isa as today
from trnbench_emulator.nki.beta1.deferral import settle
from trnbench_emulator.nki.beta1.index import leaves_nothing, turned
from trnbench_emulator.nki.beta1.root import shaped
from trnbench_emulator.nki.beta1.tile import Tile, later
from trnbench_emulator.nki.constraints import word
from trnbench_emulator.nki.functions import FUNCTIONS
from trnbench_emulator.nki.isa.constants import dge_mode as dge_modes
from trnbench_emulator.nki.isa.constants import (
    oob_mode,
    unknown_engine,
)
from trnbench_emulator.nki.isa.move import HARDWARE_DGE_SINCE
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.tensor import NkiTensor


def memset(
    shape: Any, value: Any, dtype: Any, *, mask: Any = None, engine: Any = unknown_engine, **_: Any
) -> Tile:
    sizes, _axis = shaped(shape, Buffer.SBUF)

    def issue(dst: Tile) -> None:
        if not leaves_nothing(mask, sizes):
            today.memset(dst.operand(mask), value, engine=engine)

    return later(sizes, dtype, issue)


def dma_copy(
    *,
    dst: Tile,
    src: Tile,
    mask: Any = None,
    dst_rmw_op: Any = None,
    oob_mode: Any = oob_mode.error,
    dge_mode: Any = dge_modes.unknown,
    **_: Any,
) -> None:
    """Copy between HBM and SBUF, in either direction; with dst_rmw_op, add to what is there.

    Where the core has a block for it, hardware makes the descriptors of a copy that leaves it open: kernels
    of Trainium2 that issue hundreds of them take 0.62 µs for each. Those of `nl.load` and `nl.store` are
    prepared beforehand.
    """
    settle()
    if leaves_nothing(mask, dst.shape):
        return
    dst.root.written = True
    if dst_rmw_op is not None:
        into = dst.operand(mask)
        today.dma_compute(into, [src.operand(mask), into], FUNCTIONS["add"], oob_mode=oob_mode)
        return
    skipping = word(oob_mode) != "error"  # rows that are left out keep what they hold
    into = dst.operand(mask) if skipping else dst.overwritten(src, mask)
    source = src.operand(mask)
    opened = word(dge_mode) == "unknown" and _by_hardware(into, source)
    if opened and current().assumes("hardware-descriptors"):
        dge_mode = dge_modes.hwdge
    today.dma_copy(into, source, oob_mode=oob_mode, dge_mode=dge_modes(word(dge_mode)))


def _by_hardware(dst: NkiTensor, src: NkiTensor) -> bool:
    """It knows bytes, which it does not convert, and addresses, which it does not gather."""
    since = current().machine.nc_version >= HARDWARE_DGE_SINCE
    return since and src.dtype is dst.dtype and not src.form.indirect and not dst.form.indirect


def dma_transpose(src: Tile, *, axes: Any = None, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    settle()
    shape = src.shape[::-1] if len(src.shape) != 4 else tuple(src.shape[axis] for axis in (3, 1, 2, 0))

    def issue(dst: Tile) -> None:
        if not leaves_nothing(mask, src.shape):
            into = dst.operand(turned(mask)) if len(src.shape) == 2 else dst.operand()
            today.dma_transpose(into, src.operand(mask), axes)

    return later(shape, src.dtype, issue, into=(Buffer.SBUF,), exact=True)


def tensor_copy_predicated(
    *, src: Any, dst: Tile, predicate: Tile, mask: Any = None, reverse_pred: bool = False, **_: Any
) -> None:
    settle()
    if leaves_nothing(mask, dst.shape):
        return
    value = src.operand(mask) if isinstance(src, Tile) else src
    today.tensor_copy_predicated(dst.operand(mask), value, predicate.operand(mask), reverse_pred)


def nc_stream_shuffle(src: Tile, dst: Tile, shuffle_mask: Any, *, mask: Any = None, **_: Any) -> None:
    settle()
    if leaves_nothing(mask, dst.shape):
        return
    today.nc_stream_shuffle(dst.operand(mask), src.operand(mask), shuffle_mask)
