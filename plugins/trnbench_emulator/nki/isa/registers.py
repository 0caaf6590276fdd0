"""Registers of the sequencers: register_alloc, register_move, register_load, register_store."""

from __future__ import annotations

import numpy as np

from trnbench_emulator.nki.constraints import Rules, issue
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.op import GPSIMD, Op
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.tensor import NkiTensor
from trnbench_emulator.nki.values import VirtualRegister, whole

# Every engine's sequencer carries these out for itself. One of them is counted: GpSimd's.


def register_alloc(x: int | None = None) -> VirtualRegister:
    """A register; no instruction."""
    recorder = current()
    if isinstance(x, NkiTensor):
        made_register = VirtualRegister()
        register_load(made_register, x)
        return made_register
    Rules("register_alloc", recorder.machine).require(
        x is None or isinstance(x, (int, np.integer, VirtualRegister)),
        f"it starts from {type(x).__name__}, it can start from an integer or from nothing",
    )
    return VirtualRegister(None if x is None else int(x))


def register_move(dst: VirtualRegister, src: int | VirtualRegister) -> None:
    """dst = a number or another register."""
    issue("register_move", lambda _: Op(GPSIMD, "register_move", "int32", {}, {}), (), ())
    dst.value = src.value if isinstance(src, VirtualRegister) else whole(src, "register_move: src")


def register_load(dst: VirtualRegister, src: NkiTensor) -> None:
    """dst = the only element of a tensor; unknown afterwards where only shapes are recorded."""
    recorder = issue("register_load", lambda rules: _op(rules, src, (src,)), (), (src,))
    dst.value = src.array.reshape(-1)[0].item() if recorder.functional else None


def register_store(dst: NkiTensor, src: VirtualRegister) -> None:
    """The only element of a tensor = a register."""
    recorder = issue("register_store", lambda rules: _op(rules, dst, ()), (dst,), ())
    if recorder.functional:
        dst.put(np.full(dst.shape, src.known("what is stored")))


def _op(rules: Rules, view: NkiTensor, reads: tuple[NkiTensor, ...]) -> Op:
    rules.require(view.form.elements == 1, f"the tensor has {view.form.elements} elements, it must have 1")
    rules.require(view.form.buffer is not Buffer.PSUM, "the tensor is in PSUM, it must be in SBUF or HBM")
    return rules.op(GPSIMD, (view,), reads, N=1)
