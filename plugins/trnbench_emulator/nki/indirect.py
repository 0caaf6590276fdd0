"""Views whose addresses are known only when the instruction runs, gather and scatter: what they may be."""

from __future__ import annotations

from typing import Any, NamedTuple

from trnbench_emulator.nki.dtype import DType
from trnbench_emulator.nki.memory import Form, intern
from trnbench_emulator.nki.recorder_state import STATE
from trnbench_emulator.nki.recording import Recording
from trnbench_emulator.nki.register import VirtualRegister
from trnbench_emulator.nki.values import Valued
from trnbench_emulator.nki.view import wrong

COLUMN_SINCE = 4  # NeuronCore-v4


class Addressing(NamedTuple):
    """The form of such a view; `step`: elements per unit of the index; `bound`: its end."""

    form: Form
    step: int
    bound: int


def scalar_indirect(
    base: Form, index: Any, dim: int, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Addressing:
    """All of the pattern moved by one index times the stride of `dim`."""
    if not isinstance(index, (Valued, VirtualRegister)):
        raise wrong(base, "ap", f"scalar_offset is {type(index).__name__}, it must be a register or a tile")
    if isinstance(index, Valued) and index.form.elements != 1:
        raise wrong(base, "ap", f"scalar_offset has shape {list(index.form.shape)}, it must be (1, 1)")
    return _addressing(base, dim, dtype, shape, strides, "scalar")


def vector_indirect(
    base: Form, dim: int, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Addressing:
    """Row `index[p]` of dimension `dim` for every p of the pattern's first dimension."""
    if base.on_chip:
        raise wrong(base, "ap", "vector_offset addresses tensors in HBM")
    return _addressing(base, dim, dtype, shape, strides, "vector")


def column_indirect(base: Form, index: Valued, count: int | None) -> Addressing:
    """Free offsets from `index`, offset i at [i % 16, i // 16]."""
    recorder: Recording | None = STATE.recorder
    if recorder is not None and recorder.machine.nc_version < COLUMN_SINCE:
        raise wrong(base, "indirect", f"it needs NeuronCore-v4, this is {recorder.machine.core}")
    total = index.form.elements if count is None else count
    form = intern(base.buffer, base.dtype, (base.shape[0], total), (base.strides[0], 1), "column")
    return Addressing(form, 1, base.free)


def _addressing(
    base: Form, dim: int, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], kind: str
) -> Addressing:
    if base.indirect:
        raise wrong(base, "ap", "it is addressed at run time already")
    if not 0 <= dim < len(base.shape):
        raise wrong(base, "ap", f"indirect_dim={dim}: there is no such dimension")
    return Addressing(intern(base.buffer, dtype, shape, strides, kind), base.strides[dim], base.shape[dim])
