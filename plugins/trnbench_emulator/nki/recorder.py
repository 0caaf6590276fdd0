"""The recording in progress: what `nisa` and `nl` calls talk to."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from trnbench.errors import KernelError
from trnbench_emulator.compiler import AS_SHIPPED, Assumptions
from trnbench_emulator.nki import site
from trnbench_emulator.nki.allocation import Allocations
from trnbench_emulator.nki.instruction import Sink
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.memory import Cleared, Storage
from trnbench_emulator.nki.op import DMA, TENSOR, Op
from trnbench_emulator.nki.recording import STATE
from trnbench_emulator.nki.tensor import IndirectTensor, NkiTensor

if TYPE_CHECKING:
    from trnbench_emulator.nki.programs import Programs
    from trnbench_emulator.nki.shadow import Shadow

DEFAULT_LIMIT = 20_000_000
"""Instructions after which a kernel is taken to be endless."""

_SCALED = ("nc_matmul_mx", "quantize_mx")
"""What has scales, which up to four tiles keep in one: four partitions of each quadrant for each."""


Placement: TypeAlias = Mapping[tuple[Any, ...], str]
"""Engines of ops that a kernel leaves open, by what they do (`Op.work`), where it is not the first one."""


class TooManyInstructions(KernelError):
    """The kernel went on beyond the limit that its caller gave."""


def starts(count: int) -> tuple[int, ...]:
    """From which partitions on compute engines reach `count` of them."""
    return (0,) if count > 64 else (0, 64) if count > 32 else (0, 32, 64, 96)


class Recorder(Allocations):
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
        assumptions: Assumptions = AS_SHIPPED,
        placement: Placement | None = None,
        shadow: Shadow | None = None,
    ) -> None:
        super().__init__(machine, functional=functional, programs=programs, program=program)
        self.shadow = shadow
        self.careful = shadow is not None
        self.assumptions = assumptions
        self.placement = placement or {}
        self.assumed: Counter[str] = Counter()  # what the compiler was taken to do, and how often
        self.reordering = True  # outside of nl.no_reorder
        self.grid = grid  # how many programs were launched, 0 without a grid
        self.asked = False  # for the number of this program
        self.accumulators: dict[str, Any] = {}  # sums that an engine holds between instructions
        self.generators: dict[Any, Any] = {}  # random numbers, per engine
        self.identities: dict[Any, NkiTensor] = {}
        self.issue = sink.issue
        self.limit = limit
        self.kernel = kernel
        self.ops: dict[Any, Op] = {}

    def assumes(self, name: str) -> bool:
        """Whether the compiler is taken to do this, asked where it would; the answer yes is counted."""
        if name not in self.assumptions:
            return False
        self.assumed[name] += 1
        return True

    def place(self, op: Op) -> None:
        """`op` goes to the engine that the compiler has chosen for it, if it has."""
        engine = self.placement.get(op.work)
        if engine is not None:
            op.engine = engine
            self.assumed["copy-balance"] += 1

    def constant(self, key: Any, tile: NkiTensor) -> None:
        """Keep a tile of the language for all of the kernel: no line of it writes it."""
        self.identities[key] = tile
        if self.shadow is not None:
            self.shadow.given(tile)

    def emit(
        self, op: Op, writes: tuple[NkiTensor, ...], reads: tuple[NkiTensor, ...], depth: int = 2
    ) -> None:
        """Record one instruction; its line is of the nearest frame that is not hidden, from `depth` on."""
        self.count = count = self.count + 1
        line = STATE.place or self.places.of(sys._getframe(depth))
        if count > self.limit:
            raise TooManyInstructions(
                f"kernel {self.kernel!r} issued more than {self.limit:,} instructions ({site.told(line)})",
                cause="a loop that never ends, or a problem far larger than meant",
                try_="check the loop's bounds, or raise the instruction limit",
            )
        if self.careful:
            reads = self._looked_at(op, writes, reads, line)
        elif op.engine != DMA:
            for views in (writes, reads):
                for view in views:
                    if view.offset >= view.storage.row:
                        self._check_start(op, view)
        self.issue(op, writes, reads, line)

    def _looked_at(
        self, op: Op, writes: tuple[NkiTensor, ...], reads: tuple[NkiTensor, ...], line: site.Place
    ) -> tuple[NkiTensor, ...]:
        """Every operand by itself: memsets that wait, last uses. Returns what `op` reads, indices too."""
        if self.shadow is not None:
            self.shadow.issue(op, writes, _with_indices(writes, reads), line, self.program)
        if self.indirect:
            reads = _with_indices(writes, reads)
        compute = op.engine != DMA
        for views in (writes, reads):
            for view in views:
                storage = view.storage
                if storage.cleared is not None:
                    self._clear(op, view, views is writes)
                if compute and view.offset >= storage.row:
                    self._check_start(op, view)
                if compute and self.functional and isinstance(view, IndirectTensor):
                    view.inside(op.opcode, skip=False)
        count = self.count
        for view in (*writes, *reads):
            view.storage.life.last = count
        return reads

    def hold(self, op: Op, view: NkiTensor) -> None:
        """A memset of zeros in PSUM, to be carried out only if somebody else than a product comes next.

        The first product of an accumulation group overwrites the bank, as documented of a buffer of zeros
        that products are added to: the zeros are never written. What reads or adds to them otherwise
        (another engine, `accumulate=True`) finds them, and waits for the memset.
        """
        line = STATE.place or self.places.of(sys._getframe(2))
        if self.shadow is not None:
            self.shadow.issue(op, (view,), (), line, self.program)
        storage = view.storage
        storage.cleared = [*(storage.cleared or ()), Cleared(op, view.form, view.offset, line)]
        self.careful = True

    def prepare(self, call: str, dst: NkiTensor, accumulate: bool | None) -> None:
        """A product comes: zeros that it adds to whatever `dst` held before have to be there."""
        if accumulate and dst.storage.cleared is not None:
            self.clear(dst.storage)
        if self.shadow is not None:
            self.shadow.product(call, dst, accumulate)

    def clear(self, storage: Storage) -> None:
        """Carry out the memsets of `storage` that wait."""
        held, storage.cleared = storage.cleared, None
        for op, form, offset, line in held or ():
            self.count += 1
            storage.life.last = self.count
            self.issue(op, (NkiTensor(storage, form, offset),), (), line)

    def _clear(self, op: Op, view: NkiTensor, written: bool) -> None:
        """`op` uses a tile with memsets that wait: it comes behind those of them it needs."""
        storage = view.storage
        if written and op.engine == TENSOR:
            remaining = [
                memset
                for memset in storage.cleared or ()
                if not view.region.meets(NkiTensor(storage, memset.form, memset.offset).region)
            ]
            self.assumed["zero-elision"] += len(storage.cleared or ()) - len(remaining)
            storage.cleared = remaining or None
            return
        self.count -= 1
        self.clear(storage)
        self.count += 1

    def _check_start(self, op: Op, view: NkiTensor) -> None:
        """Compute engines reach partitions from a multiple of 32 on (of 64, or 0, for larger operands)."""
        form, first = view.form, view.first_partition
        count = form.partitions
        allowed = starts(count)
        if op.opcode in _SCALED and form.dtype.size == 1:
            allowed = tuple(quadrant + at for quadrant in allowed for at in (0, 4, 8, 12))
        if first not in allowed:
            listed = ", ".join(str(partition) for partition in allowed)
            raise KernelError(
                f"{op.opcode} on {self.machine.generation}: an operand of {count} partitions starts at "
                f"partition {first}, it may start at {listed} ({site.here()})",
                cause="compute engines reach partitions in groups of 32",
                try_="move it with nisa.dma_copy, or lay the tile out in groups of 32 partitions",
            )

    def detach(self) -> None:
        """The sink goes its own way. Ledgers and recorder refer to each other, and would keep what was
        recorded until cycles are looked for."""
        del self.issue

    def finish(self) -> None:
        """Settle what only the whole kernel can tell: do its tiles fit?"""
        for buffer, ledger in self.ledgers.items():
            overflow = ledger.overflow()
            if overflow is None:
                continue
            newest, holding = overflow
            total = sum(life.bytes for life in holding)
            largest = ", ".join(f"{life.bytes:,} from {site.told(life.site)}" for life in holding[:3])
            raise KernelError(
                f"ndarray: tiles in use hold {total:,} bytes per partition, more than the "
                f"{ledger.capacity:,} of {buffer.memory.upper()} on {self.machine.generation} "
                f"({site.told(newest.site)})",
                cause=f"{len(holding)} tiles are alive there, the largest: {largest}",
                try_="use smaller tiles, or fewer at a time",
            )


def current() -> Recorder:
    """The recording in progress; raises `KernelError` outside of one."""
    recorder: Recorder | None = STATE.recorder
    if recorder is None:
        raise KernelError(
            f"an NKI call was made outside a kernel ({site.here()})",
            cause="nki.language and nki.isa calls only mean something while a kernel runs",
            try_="run the kernel with trnbench.nki.record(kernel, args, machine=…)",
        )
    return recorder


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Make `recorder` the one that calls talk to, and restore the one before."""
    before, STATE.recorder = STATE.recorder, recorder
    try:
        yield
    finally:
        STATE.recorder = before


def _with_indices(writes: tuple[NkiTensor, ...], reads: tuple[NkiTensor, ...]) -> tuple[NkiTensor, ...]:
    """The operands that are read: indices of tensors addressed at run time are, too."""
    more = [getattr(view, "index", None) for view in (*writes, *reads) if view.form.indirect]
    return (*reads, *(index for index in more if isinstance(index, NkiTensor)))
