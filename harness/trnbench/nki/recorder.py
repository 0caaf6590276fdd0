"""The recording in progress: what `nisa` and `nl` calls talk to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trnbench.errors import KernelError
from trnbench.nki import site
from trnbench.nki.dtype import DTYPES, DType
from trnbench.nki.folding.index import pinned
from trnbench.nki.instruction import DMA, Folds, Instruction, Issues, Loops, Op, Sink
from trnbench.nki.ledger import Ledger, Life
from trnbench.nki.machine import Machine
from trnbench.nki.memory import Buffer, Form, Storage, checked_shape, intern
from trnbench.nki.recorder_state import STATE
from trnbench.nki.tensor import NkiTensor

if TYPE_CHECKING:
    from types import CodeType

    from trnbench.nki.programs import Programs
    from trnbench.nki.rounds import Site

DEFAULT_LIMIT = 20_000_000
"""Instructions after which a kernel is taken to be endless."""

_HERE = str(Path(__file__).parent)
_SCALED = ("nc_matmul_mx", "quantize_mx")
"""What has scales, which up to four tiles keep in one: four partitions of each quadrant for each."""


class Recorder:
    """Executes one kernel: allocates, checks, and hands each instruction to the sink.

    `functional`: values are computed. Otherwise only shapes exist and a call costs microseconds.
    """

    def __init__(
        self,
        machine: Machine,
        sink: Sink,
        *,
        functional: bool,
        limit: int = DEFAULT_LIMIT,
        kernel: str = "",
        programs: Programs | None = None,
        program: int = 0,
        grid: int = 0,
        fold: bool = True,
    ) -> None:
        self.machine = machine
        self.programs = programs  # those that run beside this one, None where nobody waits for another
        self.program = program
        self.grid = grid  # how many programs were launched, 0 without a grid
        self.asked = False  # for the number of this program
        self.indirect = False  # any tensor addressed at run time so far
        self.accumulators: dict[str, Any] = {}  # sums that an engine holds between instructions
        self.generators: dict[Any, Any] = {}  # random numbers, per engine
        self.identities: dict[Any, NkiTensor] = {}
        self._arenas: dict[Buffer, Storage] = {}
        self.issue = sink.issue if isinstance(sink, Issues) else partial(_taken, sink.take)
        self.places = site.Places()
        self.loops = sink if isinstance(sink, Loops) else None
        self.sites: dict[tuple[CodeType, int], Site] = {}  # loops of the kernel
        self.folds = sink if fold and not functional and isinstance(sink, Folds) else None
        self.functional = functional
        self.limit = limit
        self.kernel = kernel
        self.count = 0
        self.ops: dict[Any, Op] = {}
        self.fits: set[Form] = set()
        self._forms: dict[Any, Form] = {}  # of what was allocated, by how the kernel said it
        self.hbm_bytes = 0
        self.ledgers = {
            Buffer.SBUF: Ledger("sbuf", machine.sbuf_partition_bytes, self),
            Buffer.PSUM: Ledger("psum", machine.psum_partition_bytes, self),
        }

    def allocate(
        self, shape: Any, dtype: DType, buffer: Buffer, name: str = "", address: Any = None
    ) -> NkiTensor:
        """A new tensor, uninitialised. Raises `KernelError` when it can never fit."""
        if STATE.watching:
            shape = tuple(map(pinned, shape)) if isinstance(shape, (tuple, list)) else pinned(shape)
        asked = (shape, dtype, buffer)
        try:
            form = self._forms.get(asked)
        except TypeError:
            form = None  # a list
        if form is None:
            sizes = checked_shape(shape, site.here())
            form = intern(buffer, dtype, sizes, _row_major(sizes))
            if form not in self.fits:
                self._check_fits(form, name)
                self.fits.add(form)
            if type(shape) is tuple:
                self._forms[asked] = form
        if address is not None:
            return self._at(form, name, address)
        if buffer is Buffer.SHARED_HBM and self.programs is not None:
            shared = self.programs.shared(self, form, name)
            if shared is not None:
                return shared
        ledger: Ledger | None = None
        row = 1 << 62
        if form.on_chip:
            row = form.free
            frame = sys._getframe(2)
            if frame.f_code is not self.places.code:
                frame = self.places.outside(sys._getframe(1))
            place = self.places.lines.get(frame.f_lasti) or self.places.add(frame)
            life = Life(self.count, row * dtype.size, name, place, self.count)
            ledger = self.ledgers[buffer]
            ledger.acquire(life)
        else:
            life = Life(self.count, form.nbytes, name)
            self.hbm_bytes += form.nbytes
            if self.hbm_bytes > self.machine.hbm_bytes:
                raise KernelError(
                    f"ndarray: {self.hbm_bytes:,} bytes of HBM in all exceed the {self.machine.hbm_bytes:,} "
                    f"of one {self.machine.generation} device ({site.here()})",
                    try_="make the tensors smaller, or split the work over devices",
                )
        storage = Storage(form, name, life, ledger, row)
        if self.functional:
            self._filled(storage)
        tensor = NkiTensor(storage, form, 0)
        if buffer is Buffer.SHARED_HBM and self.programs is not None:
            self.programs.share(self, tensor)
        return tensor

    def _filled(self, storage: Storage) -> Storage:
        if self.functional:
            form, dtype = storage.form, storage.form.dtype
            storage.data = np.full(form.elements, dtype.unset, dtype.numpy).view(np.uint8)
            if form.buffer is Buffer.PSUM:
                storage.written = np.zeros(form.nbytes, np.bool_)
        return storage

    def _at(self, form: Form, name: str, address: Any) -> NkiTensor:
        """A tile at an address of the kernel's own choice: (partition, byte of the partition)."""
        try:
            partition, byte = (int(each) for each in address)
        except (TypeError, ValueError):
            raise KernelError(
                f"ndarray: address={address!r} is no (partition, byte) pair ({site.here()})"
            ) from None
        if not form.on_chip:
            raise KernelError(f"ndarray: address= places tiles in SBUF and PSUM ({site.here()})")
        capacity = self.ledgers[form.buffer].capacity
        end = byte + form.free * form.dtype.size
        if (
            partition < 0
            or byte < 0
            or end > capacity
            or partition + form.partitions > self.machine.partitions
        ):
            raise KernelError(
                f"ndarray: {form!r} at partition {partition}, byte {byte} ends at byte {end:,} and partition "
                f"{partition + form.partitions}, {form.buffer.memory.upper()} on {self.machine.generation} "
                f"has {capacity:,} and {self.machine.partitions} ({site.here()})"
            )
        arena = self._arenas.get(form.buffer)
        if arena is None:
            whole = (self.machine.partitions, capacity)
            layout = intern(form.buffer, DTYPES["uint8"], whole, (capacity, 1))
            arena = self._arenas[form.buffer] = Storage(layout, form.buffer.value, Life(0, 0), None)
        storage = Storage(form, name, Life(self.count, 0, name), None)
        storage.place = (arena, partition, byte)
        ledger = self.ledgers[form.buffer]
        ledger.peak = max(ledger.peak, end)
        return NkiTensor(self._filled(storage), form, 0)

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
        places = self.places
        frame = sys._getframe(2)
        if frame.f_code is not places.code:
            frame = places.outside(frame)
        place = places.lines.get(frame.f_lasti) or places.add(frame)
        if count > self.limit:
            raise KernelError(
                f"kernel {self.kernel!r} issued more than {self.limit:,} instructions ({site.told(place)})",
                cause="a loop that never ends, or a problem far larger than meant",
                try_="check the loop's bounds, or raise the instruction limit",
            )
        if self.indirect:
            reads = _with_indices(writes, reads)
        for views in (writes, reads):
            for view in views:
                storage = view.storage
                storage.life.last = count
                if view.offset >= storage.row:
                    self._check_start(op, view)
        self.issue(op, writes, reads, STATE.place or place)

    def _check_start(self, op: Op, view: NkiTensor) -> None:
        """Compute engines reach partitions from a multiple of 32 on (of 64, or 0, for larger operands)."""
        if op.engine == DMA:
            return
        form, place = view.form, view.storage.place
        first = view.offset * form.dtype.size // (view.storage.form.free * view.storage.form.dtype.size)
        first += place[1] if place is not None else 0
        count = form.partitions
        allowed: tuple[int, ...] = (0,) if count > 64 else (0, 64) if count > 32 else (0, 32, 64, 96)
        if op.opcode in _SCALED and form.dtype.size == 1:
            allowed = tuple(quadrant + at for quadrant in allowed for at in (0, 4, 8, 12))
        if first not in allowed and count > 0:
            listed = ", ".join(str(each) for each in allowed)
            raise KernelError(
                f"{op.opcode} on {self.machine.generation}: an operand of {count} partitions starts at "
                f"partition {first}, it may start at {listed} ({site.here()})",
                cause="compute engines reach partitions in groups of 32",
                try_="move it with nisa.dma_copy, or lay the tile out in groups of 32 partitions",
            )

    def finish(self) -> None:
        """Settle what only the whole kernel can tell: do its tiles fit?"""
        for ledger in self.ledgers.values():
            found = ledger.overflow()
            if found is None:
                continue
            newest, holding = found
            total = sum(life.bytes for life in holding)
            largest = ", ".join(f"{life.bytes:,} from {site.told(life.site)}" for life in holding[:3])
            raise KernelError(
                f"ndarray: tiles in use hold {total:,} bytes per partition, more than the "
                f"{ledger.capacity:,} of {ledger.memory.upper()} on {self.machine.generation} "
                f"({site.told(newest.site)})",
                cause=f"{len(holding)} tiles are alive there, the largest: {largest}",
                try_="use smaller tiles, or fewer at a time",
            )


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


def _taken(
    take: Callable[[Instruction], None],
    op: Op,
    writes: tuple[NkiTensor, ...],
    reads: tuple[NkiTensor, ...],
    place: site.Place,
) -> None:
    take(Instruction(op, writes, reads, *place))


def _with_indices(writes: tuple[NkiTensor, ...], reads: tuple[NkiTensor, ...]) -> tuple[NkiTensor, ...]:
    """The operands that are read: indices of tensors addressed at run time are, too."""
    more = [getattr(view, "index", None) for view in (*writes, *reads) if view.form.indirect]
    return (*reads, *(each for each in more if isinstance(each, NkiTensor)))


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
