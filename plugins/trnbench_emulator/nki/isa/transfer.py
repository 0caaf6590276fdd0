"""DMA beyond copies: transposes, sums, exchanges between the cores of a launch."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench_emulator.nki.constraints import Rules, issue, moved, word
from trnbench_emulator.nki.dtype import Array
from trnbench_emulator.nki.functions import function_of
from trnbench_emulator.nki.isa.constants import dge_mode as dge_modes
from trnbench_emulator.nki.isa.constants import dma_engine as dma_engines
from trnbench_emulator.nki.isa.constants import engine as engines
from trnbench_emulator.nki.isa.constants import oob_mode as oob_modes
from trnbench_emulator.nki.isa.move import dge_word, generator, reachable, spare, transfer, transfer_variables
from trnbench_emulator.nki.memory import Buffer, Form
from trnbench_emulator.nki.op import DMA, Op
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.tensor import IndirectTensor, NkiTensor

_AXES: dict[int, tuple[int, ...]] = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
_V3 = 3
_MOST_SOURCES = 16
_LONGEST_TURNED = 128
_GPSIMD_BYTES = {4: 1024, 2: 512, 1: 256}  # per partition, by bytes of an element


def dma_transpose(
    dst: NkiTensor,
    src: NkiTensor,
    axes: tuple[int, ...] | None = None,
    priority: int | None = None,
    dge_mode: dge_modes = dge_modes.unknown,
    oob_mode: oob_modes = oob_modes.error,
    name: str | None = None,
) -> None:
    """dst = src with its dimensions in reverse order (of four, the middle two stay) into SBUF."""
    rank = len(src.form.shape)
    order = tuple(axes) if axes is not None else _AXES.get(rank, ())

    def build(rules: Rules) -> Op:
        reachable(rules, src=src.form, dst=dst.form)
        rules.require(
            rank in _AXES and order == _AXES[rank],
            f"axes are {order} of {rank} dimensions, it does (1, 0), (2, 1, 0) and (3, 1, 2, 0)",
        )
        rules.require(
            src.form.dtype is dst.form.dtype,
            f"src is {src.form.dtype}, dst is {dst.form.dtype}: they must be the same",
        )
        turned = tuple(src.form.shape[axis] for axis in order)
        rules.require(
            src.form.elements == dst.form.elements and (turned[0] == dst.form.shape[0]),
            f"dst is {list(dst.form.shape)}, the transpose is {list(turned)}",
        )
        generator(rules, dge_mode, engines.unknown, priority)
        rules.within(dst.form, Buffer.SBUF, name="dst")
        _check_turned(rules, src.form, dge_word(dge_mode))
        rules.require(
            word(oob_mode) != "skip" or bool(src.form.indirect),
            "oob_mode skip goes with a src that is addressed at run time",
        )
        # Elements change places one by one: what a descriptor moves on one side is a run on the other only.
        return transfer("dma_transpose", dst.form, src.form, dge=dge_word(dge_mode), transpose=True)

    recorder = issue("dma_transpose", build, (dst,), (src,), order, dge_mode, priority, oob_mode)
    if recorder.functional:
        if isinstance(src, IndirectTensor):
            inside = src.inside("dma_transpose", skip=word(oob_mode) == "skip").transpose(order)
            values = np.where(inside, src.array.transpose(order), dst.array.reshape(inside.shape))
            spare(dst, ~inside.reshape(dst.shape))
        else:
            values = src.array.transpose(order)
        dst.put(values)


def _check_turned(rules: Rules, src: Form, mode: str) -> None:
    """Who may turn `src`: rows that an index gathers are for software, hardware takes small blocks."""
    allowed = ("unknown", "swdge") if src.indirect else ("unknown", "hwdge")
    rules.require(mode in allowed, f"dge_mode is {mode}, it is {' or '.join(allowed)} here")
    first, rest = src.shape[0], "elements that are gathered" if src.indirect else "elements under hwdge"
    if src.indirect:
        rules.since(_V3)
        rules.require(not src.on_chip, "src is on chip, rows are gathered from HBM")
        rules.require(src.indirect != "vector" or first % 16 == 0, f"src has {first} rows, no multiple of 16")
    elif mode == "hwdge":
        blocks = (16,) if len(src.shape) == 2 else (1, 2, 4, 8, 16)
        rules.require(first in blocks, f"src has {first} rows, hwdge takes {', '.join(map(str, blocks))}")
        rules.require(
            len(src.shape) == 2 or first * src.shape[-2] % 16 == 0,
            f"src is {list(src.shape)}, hwdge takes a multiple of 16 in its first and next to last dimension",
        )
    if src.indirect or mode == "hwdge":
        rules.require(src.dtype.size == 2, f"src is {src.dtype}, {rest} have 2 bytes")
        rules.at_most(src.shape[-1], _LONGEST_TURNED, "the last dimension of src")


def dma_compute(
    dst: NkiTensor,
    srcs: list[NkiTensor],
    reduce_op: Any,
    scales: list[float] | None = None,
    unique_indices: bool = True,
    oob_mode: oob_modes = oob_modes.error,
    name: str | None = None,
    *,
    _atomic: bool = False,
) -> None:
    """dst = the sum of `srcs`, added while they are copied. One source may be addressed at run time.
    `_atomic`: the first is dst, and what goes to one place is all added."""
    forms = tuple(source.form for source in srcs)

    def build(rules: Rules) -> Op:
        rules.require(
            function_of(reduce_op, "dma_compute").name == "add",
            f"reduce_op is {reduce_op!r}, DMA engines add",
        )
        rules.require(
            scales is None or all(scale == 1.0 for scale in scales),
            f"scales are {scales}, they must all be 1.0",
        )
        _check_sources(rules, dst.form, forms, unique_indices=unique_indices)
        parts = [transfer_variables(dst.form, form) for form in forms]
        variables = {**parts[0], "compute": True, "sources": len(srcs), "dge": "none"}
        for name in ("bytes", "descriptors"):
            variables[name] = sum(part[name] for part in parts)
        return Op(
            DMA, "dma_compute", dst.form.dtype.word, variables, moved(reads=forms, writes=(dst.form,)),
            elements=dst.form.elements * len(srcs),
        )  # fmt: skip

    recorder = issue("dma_compute", build, (dst,), tuple(srcs), reduce_op, str(scales), unique_indices)
    if recorder.functional:
        skip = word(oob_mode) == "skip"
        for tensor in (dst, *srcs):
            if isinstance(tensor, IndirectTensor):
                tensor.inside("dma_compute", skip=skip)
        again = dst.repeated() if isinstance(dst, IndirectTensor) and not _atomic else None
        Rules("dma_compute", recorder.machine).require(
            again is None,
            f"index {again} occurs twice, those of what is added to must be unique",
            cause="NKI does not support unique_indices=False yet: of two sums one would be lost",
            try_="add up the rows of one index before",
        )
        total = np.zeros(dst.shape, np.float32)
        for source in srcs:
            values = source.floats().reshape(dst.shape)
            if isinstance(source, IndirectTensor):
                values = np.where(source.positions()[1].reshape(dst.shape), values, 0)
            total = total + (_shared(dst, values) if _atomic and source is not dst else values)
        dst.put(total)


def _shared(dst: NkiTensor, values: Array) -> Array:
    """For each value the sum of those that go to the same place of `dst`."""
    assert isinstance(dst, IndirectTensor)
    places, number = np.unique(dst.positions()[0].reshape(-1), return_inverse=True)
    total = np.zeros(len(places), np.float32)
    np.add.at(total, number.reshape(-1), values.reshape(-1))
    return total[number].reshape(dst.shape)


def _check_sources(rules: Rules, dst: Form, forms: tuple[Form, ...], *, unique_indices: bool) -> None:
    rules.at_most(len(forms), _MOST_SOURCES, "the number of sources")
    rules.require(len(forms) > 0, "it has no source")
    for at, form in enumerate(forms):
        reachable(rules, **{f"srcs[{at}]": form})
        rules.require(
            form.elements == dst.elements,
            f"srcs[{at}] has {form.elements} elements, dst has {dst.elements}",
        )
    reachable(rules, dst=dst)
    if dst.indirect or any(form.indirect for form in forms):
        rules.require(len(forms) == 2, f"with run-time addresses it takes 2 sources, got {len(forms)}")
        rules.require(unique_indices, "unique_indices=False is not supported by NKI yet")


def sendrecv(
    src: NkiTensor,
    dst: NkiTensor,
    send_to_rank: int,
    recv_from_rank: int,
    pipe_id: int,
    dma_engine: dma_engines = dma_engines.dma,
    name: str | None = None,
) -> None:
    """Send `src` to one core of the launch while `dst` is received from one."""
    recorder, pipe = current(), int(pipe_id)

    def build(rules: Rules) -> Op:
        rules.since(_V3)
        rules.in_sbuf(src=src, dst=dst)
        rules.same_elements(dst.form, src.form, ("dst", "src"))
        rules.require(src.form.dtype is dst.form.dtype, f"src is {src.form.dtype}, dst is {dst.form.dtype}")
        _of_a_logical_core(rules, recorder.grid)
        for label, rank in (("send_to_rank", send_to_rank), ("recv_from_rank", recv_from_rank)):
            rules.require(
                0 <= int(rank) < max(recorder.grid, 1),
                f"{label} is {rank}, the launch has {max(recorder.grid, 1)} program(s)",
                try_="launch with kernel[2]",
            )
        if word(dma_engine) == "gpsimd_dma":
            rules.at_most(
                src.form.row_bytes,
                _GPSIMD_BYTES.get(src.form.dtype.size, 256),
                "bytes per partition through GpSimd's DMA",
            )
        return transfer("sendrecv", dst.form, src.form, dge="none", via=word(dma_engine), pipe=pipe)

    issue("sendrecv", build, (dst,), (src,), dma_engine, pipe, int(send_to_rank), int(recv_from_rank))
    if recorder.functional:
        if recorder.programs is None:
            dst.put(src.array)
            return
        sent = src.array.copy()
        board = recorder.programs.meet(recorder, ("sendrecv", pipe), (int(send_to_rank), sent))
        target, values = board[int(recv_from_rank)]
        Rules("sendrecv", recorder.machine).require(
            target == recorder.program,
            f"core {recorder.program} receives from core {int(recv_from_rank)}, which sends to core {target}",
            try_="send_to_rank and recv_from_rank of two that exchange: 1 - nl.program_id(0)",
        )
        dst.put(values)


def core_barrier(
    data: NkiTensor, cores: Any, engine: engines = engines.gpsimd, name: str | None = None
) -> None:
    """Wait until all cores of the launch are here."""
    recorder = current()

    def build(rules: Rules) -> Op:
        rules.since(_V3)
        rules.require(tuple(cores) in ((0, 1), (0,)), f"cores are {cores!r}, it takes (0, 1)")
        _of_a_logical_core(rules, recorder.grid)
        rules.require(
            data.form.buffer in (Buffer.SHARED_HBM, Buffer.HBM),
            f"data is in {data.form.buffer}, cores share what is in shared_hbm",
        )
        chosen = rules.engine(word(engine), ("gpsimd", "vector", "scalar", "tensor"))
        op = rules.op(chosen, (data,), ())
        op.traffic = {}
        return op

    issue("core_barrier", build, (data,), (data,), engine, tuple(cores))
    if recorder.functional and recorder.programs is not None:
        recorder.programs.meet(recorder, "core_barrier")


def _of_a_logical_core(rules: Rules, programs: int) -> None:
    """Only the two cores of a logical core wait for each other."""
    rules.require(
        programs <= 2,
        f"it joins the two cores of a logical core, the launch has {programs} programs",
        try_="launch it as two programs",
    )
