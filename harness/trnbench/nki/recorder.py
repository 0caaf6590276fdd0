"""The recording in progress: what `nisa` and `nl` calls talk to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from trnbench.errors import KernelError
from trnbench.nki import site
from trnbench.nki.dtype import DType
from trnbench.nki.instruction import Instruction, Op, Sink
from trnbench.nki.machine import Machine
from trnbench.nki.memory import Buffer, Form, Ledger, Life, Storage, checked_shape, intern
from trnbench.nki.tensor import NkiTensor

DEFAULT_LIMIT = 20_000_000
"""Instructions after which a kernel is taken to be endless."""

_HERE = str(Path(__file__).parent)


class Recorder:
    """Executes one kernel: allocates, checks, and hands each instruction to the sink.

    `functional`: values are computed. Otherwise only shapes exist and a call costs microseconds.
    """

    def __init__(
        self, machine: Machine, sink: Sink, *, functional: bool, limit: int = DEFAULT_LIMIT, kernel: str = ""
    ) -> None:
        self.machine = machine
        self.sink = sink.take
        self.functional = functional
        self.limit = limit
        self.kernel = kernel
        self.count = 0
        self.ops: dict[Any, Op] = {}
        self.fits: set[Form] = set()
        self.hbm_bytes = 0
        self.ledgers = {
            Buffer.SBUF: Ledger("sbuf", machine.sbuf_partition_bytes),
            Buffer.PSUM: Ledger("psum", machine.psum_partition_bytes),
        }

    def allocate(self, shape: Any, dtype: DType, buffer: Buffer, name: str = "") -> NkiTensor:
        """A new tensor, uninitialised. Raises `KernelError` when it can never fit."""
        sizes = shape if type(shape) is tuple else checked_shape(shape, site.here())
        try:
            form = intern(buffer, dtype, sizes, _row_major(sizes))
        except TypeError:
            form = None  # a tuple of something else than integers
        if form is None or form not in self.fits:
            sizes = checked_shape(sizes, site.here())
            form = intern(buffer, dtype, sizes, _row_major(sizes))
            self._check_fits(form, name)
            self.fits.add(form)
        if form.on_chip:
            size = form.free * dtype.size
            ledger: Ledger | None = self.ledgers[buffer]
            frame = sys._getframe(1)
            while frame.f_code.co_filename.startswith(_HERE) and frame.f_back is not None:
                frame = frame.f_back
            life = Life(self.count, size, name, f"{frame.f_code.co_filename}:{frame.f_lineno}")
            ledger.acquire(life)  # type: ignore[union-attr]
        else:
            life, ledger = Life(self.count, form.nbytes, name, ""), None
            self.hbm_bytes += form.nbytes
            if self.hbm_bytes > self.machine.hbm_bytes:
                raise KernelError(
                    f"ndarray: {self.hbm_bytes:,} bytes of HBM in all exceed the {self.machine.hbm_bytes:,} "
                    f"of one {self.machine.generation} device ({site.here()})",
                    try_="make the tensors smaller, or split the work over devices",
                )
        storage = Storage(form, name, life, ledger)
        if self.functional:
            storage.data = np.full(form.elements, dtype.unset, dtype.numpy).view(np.uint8)
            if buffer is Buffer.PSUM:
                storage.written = np.zeros(form.elements, np.bool_)
        return NkiTensor(storage, form, 0)

    def _check_fits(self, form: Form, name: str) -> None:
        if not form.on_chip:
            return
        machine, label = self.machine, f" {name!r}" if name else ""
        if form.partitions > machine.partitions:
            raise KernelError(
                f"ndarray: {form.partitions} partitions of{label} {form!r} exceed the {machine.partitions} "
                f"of {form.buffer.memory.upper()} on {machine.generation} ({site.here()})",
                cause="dimension 0 of a tensor in SBUF or PSUM is the partition",
                try_=f"tile dimension 0 by nl.tile_size.pmax = {machine.partitions}",
            )
        capacity = self.ledgers[form.buffer].capacity
        size = form.free * form.dtype.size
        if size > capacity:
            raise KernelError(
                f"ndarray: {size:,} bytes per partition of{label} {form!r} exceed the {capacity:,} "
                f"of {form.buffer.memory.upper()} on {machine.generation} ({site.here()})",
                try_="tile the free dimensions",
            )

    def emit(self, op: Op, writes: tuple[NkiTensor, ...], reads: tuple[NkiTensor, ...]) -> None:
        """Record one instruction; its line is that of the nearest frame outside this package."""
        self.count = count = self.count + 1
        frame = sys._getframe(2)
        while frame.f_code.co_filename.startswith(_HERE):
            if frame.f_back is None:
                break
            frame = frame.f_back
        if count > self.limit:
            raise KernelError(
                f"kernel {self.kernel!r} issued more than {self.limit:,} instructions "
                f"({Path(frame.f_code.co_filename).name}:{frame.f_lineno})",
                cause="a loop that never ends, or a problem far larger than meant",
                try_="check the loop's bounds, or raise the instruction limit",
            )
        for view in writes:
            view.storage.life.last = count
        for view in reads:
            view.storage.life.last = count
        self.sink(Instruction(op, writes, reads, frame.f_code.co_filename, frame.f_lineno))

    def finish(self) -> None:
        """Settle what only the whole kernel can tell: do its tiles fit?"""
        for ledger in self.ledgers.values():
            found = ledger.overflow()
            if found is None:
                continue
            newest, holding = found
            total = sum(life.bytes for life in holding)
            largest = ", ".join(f"{life.bytes:,} from {Path(life.site).name}" for life in holding[:3])
            raise KernelError(
                f"ndarray: tiles in use hold {total:,} bytes per partition, more than the "
                f"{ledger.capacity:,} of {ledger.memory.upper()} on {self.machine.generation} "
                f"({Path(newest.site).name})",
                cause=f"{len(holding)} tiles are alive there, the largest: {largest}",
                try_="use smaller tiles, or fewer at a time",
            )


class _State:
    """The recording that calls belong to. One per process: runs are parallel by process."""

    __slots__ = ("recorder",)

    def __init__(self) -> None:
        self.recorder: Recorder | None = None


STATE = _State()


def current() -> Recorder:
    """The recording in progress; raises `KernelError` outside of one."""
    recorder = STATE.recorder
    if recorder is None:
        raise KernelError(
            f"an NKI call was made outside a kernel ({site.here()})",
            cause="nki.language and nki.isa calls only mean something while a kernel runs",
            try_="run the kernel with trnbench.nki.record(kernel, args, machine=…)",
        )
    return recorder


class recording:  # noqa: N801 - reads as a statement: `with recording(recorder):`
    """Make `recorder` the one that calls talk to, and restore the one before."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __enter__(self) -> Recorder:
        self.before = STATE.recorder
        STATE.recorder = self.recorder
        return self.recorder

    def __exit__(self, *_: object) -> None:
        STATE.recorder = self.before


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
