"""Moving data: dma_copy, tensor_copy, memset."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench_emulator.nki.constraints import Rules, alike, moved, word
from trnbench_emulator.nki.dtype import Array
from trnbench_emulator.nki.isa.constants import DGE_NUMBERS
from trnbench_emulator.nki.isa.constants import dge_mode as dge_modes
from trnbench_emulator.nki.isa.constants import engine as engines
from trnbench_emulator.nki.isa.constants import oob_mode as oob_modes
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.memory import Buffer, Form
from trnbench_emulator.nki.op import DMA, GPSIMD, SCALAR, VECTOR, Op
from trnbench_emulator.nki.recorder import Recorder, current
from trnbench_emulator.nki.tensor import IndirectTensor, NkiTensor

_SCALAR_COPY_SINCE = 3  # NeuronCore-v3 copies bit by bit on Scalar
HARDWARE_DGE_SINCE = 3
_PRIORITY_SINCE = 4


def dma_copy(
    dst: NkiTensor,
    src: NkiTensor,
    priority: int | None = None,
    oob_mode: oob_modes = oob_modes.error,
    dge_mode: dge_modes = dge_modes.unknown,
    engine: engines = engines.unknown,
    name: str | None = None,
) -> None:
    """Copy (and cast) between HBM and SBUF, or within either. PSUM is out of DMA's reach.

    Either side may be addressed at run time; `oob_mode.skip` leaves out what is then outside.
    """
    recorder = current()
    key = ("dma_copy", dst.form, src.form, dge_mode, engine, priority)
    op = recorder.ops.get(key)
    if op is None:
        op = recorder.ops[key] = _dma(recorder.machine, *key[1:])
    recorder.emit(op, (dst,), (src,))
    if recorder.functional:
        if dst.form.indirect or src.form.indirect:
            move(dst, src, skip=word(oob_mode) == "skip", call="dma_copy")
        else:
            dst.put(_payload(src, dst.form))


def move(dst: NkiTensor, src: NkiTensor, *, skip: bool, call: str) -> None:
    """Copy where both sides are addressed inside their tensors."""
    values = _payload(src, dst.form).reshape(dst.shape)
    if isinstance(dst, IndirectTensor):
        dst.inside(call, skip=skip)
    if isinstance(src, IndirectTensor):
        inside = src.inside(call, skip=skip).reshape(dst.shape)
        if not inside.all():
            values = np.where(inside, values, dst.array)
            spare(dst, ~inside)
    dst.put(values)


def spare(dst: NkiTensor, marks: Array) -> None:
    """The instruction that was just issued leaves these elements as they are."""
    shadow = current().shadow
    if shadow is not None:
        shadow.spared(dst, marks)


def _payload(src: NkiTensor, dst: Form) -> Array:
    """What a copy passes on: the bits between equal types, fp32 between others. A packed word is bits."""
    kinds = src.form.dtype, dst.dtype
    same = kinds[0] is kinds[1] or any(kind.packed is not None for kind in kinds)
    return src.array if same else src.floats()


def _dma(machine: Machine, dst: Form, src: Form, mode: Any, engine: Any, priority: int | None) -> Op:
    rules = Rules("dma_copy", machine)
    reachable(rules, src=src, dst=dst)
    rules.require(
        src.elements == dst.elements,
        f"src has {src.elements} elements {list(src.shape)}, dst has {dst.elements} {list(dst.shape)}",
    )
    generator(rules, mode, engine, priority)
    started = {} if word(engine) == "unknown" else {"trigger": word(engine)}
    return transfer("dma_copy", dst, src, dge=dge_word(mode), **started)


def transfer(call: str, dst: Form, src: Form, **variables: Any) -> Op:
    """What DMA engines do to move `src` to `dst`; `variables` are what else its cost depends on."""
    return Op(
        DMA,
        call,
        src.dtype.word,
        {**transfer_variables(dst, src), **variables},
        moved(reads=(src,), writes=(dst,)),
    )


def reachable(rules: Rules, **forms: Form) -> None:
    """DMA engines do not reach PSUM."""
    for name, form in forms.items():
        rules.require(
            form.buffer is not Buffer.PSUM,
            f"{name} is in PSUM, DMA engines reach SBUF and HBM",
            try_="copy through SBUF with nisa.tensor_copy",
        )


def dge_word(mode: Any) -> str:
    """What makes the descriptors, by name, where the kernel gives a member or its number."""
    if isinstance(mode, int) and 0 <= mode < len(DGE_NUMBERS):
        return DGE_NUMBERS[mode]
    return word(mode)


def generator(rules: Rules, mode: Any, engine: Any, priority: int | None) -> None:
    """What makes the descriptors, and for whom it may be asked."""
    version = rules.machine.nc_version
    rules.require(
        dge_word(mode) != "hwdge" or version >= HARDWARE_DGE_SINCE,
        "dge_mode hwdge is available from NeuronCore-v3 on",
        try_="dge_mode=nisa.dge_mode.swdge, or leave it open",
    )
    rules.require(
        word(engine) in ("unknown", "sync", "scalar"),
        f"engine {word(engine)} cannot start a transfer, sync and scalar can",
    )
    rules.require(
        word(engine) == "unknown" or dge_word(mode) in ("unknown", "hwdge"),
        f"engine {word(engine)} does not go with dge_mode {dge_word(mode)}",
        cause="engine says who has hardware make the descriptors",
        try_="dge_mode=nisa.dge_mode.hwdge, or leave the engine open",
    )
    rules.require(
        priority is None or (isinstance(priority, int) and 0 <= priority <= 3),
        f"priority is {priority!r}, it is 0 to 3",
    )
    rules.require(
        priority is None or version >= _PRIORITY_SINCE,
        f"priority is {priority}, transfers have one from NeuronCore-v{_PRIORITY_SINCE} on",
        try_="leave priority out",
    )


def transfer_variables(dst: Form, src: Form) -> dict[str, Any]:
    """What a transfer's cost depends on: bytes, and runs of them that one descriptor moves."""
    run = min(src.run_bytes // src.dtype.size, dst.run_bytes // dst.dtype.size)
    if "column" in (src.indirect, dst.indirect):
        run = 1
    size = max(src.dtype.size, dst.dtype.size)
    return {
        "bytes": src.elements * size,
        "run_bytes": run * size,
        "descriptors": -(-src.elements // run),
        "P": max(src.partitions, dst.partitions),
        "src": src.buffer.memory,
        "dst": dst.buffer.memory,
        "cast": src.dtype is not dst.dtype,
        "indirect": src.indirect or dst.indirect,
    }


def tensor_copy(
    dst: NkiTensor, src: NkiTensor, engine: engines = engines.unknown, name: str | None = None
) -> None:
    """Copy (and cast) on chip. With the engine unset the compiler chooses Vector or Scalar by their load."""
    recorder = current()
    key = ("tensor_copy", dst.form, src.form, engine)
    op = recorder.ops.get(key)
    if op is None:
        op = recorder.ops[key] = _copy(recorder, dst, src, engine)
    recorder.emit(op, (dst,), (src,))
    if recorder.functional:
        dst.put(_payload(src, dst.form))


def _copy(recorder: Recorder, dst: NkiTensor, src: NkiTensor, given: Any) -> Op:
    rules = Rules("tensor_copy", recorder.machine)
    alike(rules, dst, src=src)
    engine = rules.engine(word(given), (VECTOR, SCALAR, GPSIMD), dst.form, src.form)
    on_scalar = rules.machine.nc_version >= _SCALAR_COPY_SINCE
    rules.require(
        engine != SCALAR or on_scalar,
        "engine scalar copies from NeuronCore-v3 on",
        try_="nisa.activation(dst, nl.copy, src), or leave the engine open",
    )
    op = rules.op(engine, (dst,), (src,))
    if on_scalar and word(given) == "unknown":
        op.alternatives = (SCALAR,)
        recorder.place(op)
    return op


def memset(dst: NkiTensor, value: float, engine: engines = engines.unknown, name: str | None = None) -> None:
    """Fill with a constant. With the engine unset Vector does it.

    Zeros in PSUM that a product comes upon first cost nothing: see `Recorder.hold`.
    """
    recorder = current()
    key = ("memset", dst.form, engine, value == 0)
    op = recorder.ops.get(key)
    if op is None:
        rules = Rules("memset", recorder.machine)
        rules.require(
            dst.form.dtype.packed is None or value == 0,
            f"value is {value!r}, {dst.form.dtype} can only be set to 0",
        )
        rules.on_chip(dst.form, name="dst")
        chosen = rules.engine(word(engine), (VECTOR, GPSIMD), dst.form)
        op = recorder.ops[key] = rules.op(chosen, (dst,), (), zero=value == 0)
    form = dst.form
    zeros = value == 0 and form.memory == "psum" and dst.storage.place is None and not form.indirect
    if zeros and "zero-elision" in recorder.assumptions:
        recorder.hold(op, dst)
    else:
        recorder.emit(op, (dst,), ())
    if recorder.functional:
        dst.put(np.full(dst.shape, value, np.float64 if dst.form.dtype.is_float else np.int64))
