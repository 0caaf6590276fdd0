"""Memory of a kernel: who holds how much of SBUF and PSUM, storages, and the layout of views on them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from enum import StrEnum
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from trnbench.errors import KernelError
from trnbench_emulator.nki.dtype import DType, Sizes
from trnbench_emulator.nki.op import Op
from trnbench_emulator.nki.recording import Recording
from trnbench_emulator.nki.site import NOWHERE, Place, here


class Buffer(StrEnum):
    """Where a tensor lives. The three sorts of HBM differ only in who may see them."""

    SBUF = "sbuf"
    PSUM = "psum"
    HBM = "hbm"
    PRIVATE_HBM = "private_hbm"
    SHARED_HBM = "shared_hbm"

    @property
    def memory(self) -> str:
        """`sbuf`, `psum` or `hbm`."""
        return self.value.rpartition("_")[2]


_FEW = 64


class Life(msgspec.Struct, eq=False, gc=False):
    """From allocation to last use, counted in instructions. `bytes` per partition.

    `died`: how many instructions had been issued when Python dropped the tile. `last` is followed from the
    first moment on at which tiles may not fit, see `Recording.careful`. `takes`: whose places it takes, where
    that was decided beforehand (Beta 1). `suspicions`: how many its ledger had when it was allocated.
    """

    first: int
    bytes: int
    site: Place = NOWHERE
    last: int = 0
    alive: bool = True
    died: int = -1
    takes: tuple[Life, ...] = ()
    suspicions: int = 0


class Suspicion(msgspec.Struct, eq=False, gc=False):
    """A `moment`, in instructions, at which more was referenced than there is, the `newest` tile with it.

    `ended`: bytes that turned out to be of no more use, from this suspicion on. What was referenced is `held`
    less all that had `ended` until then.
    """

    moment: int
    newest: Life
    held: int
    ended: int = 0


class Ledger:
    """Bytes per partition of one on-chip memory, and proof that they fit.

    A tile is held from its allocation to its last use, as a compiler that knows the whole kernel
    would hold it. Python's references only bound that from above (a loop variable keeps the last
    tile of the round before), so an excess of referenced bytes is a suspicion, settled as
    soon as the tiles concerned are gone.
    """

    __slots__ = (
        "capacity", "clock", "ended", "held", "lives", "passed", "peak", "purge", "settled", "suspicions",
    )  # fmt: skip

    def __init__(self, capacity: int, clock: Recording) -> None:
        self.clock = clock
        self.capacity = capacity
        self.held = 0
        self.peak = 0
        self.lives: list[Life] = []  # those that hold or may, and others until there are `purge` in all
        self.purge = _FEW
        self.suspicions: list[Suspicion] = []
        self.settled = 0  # how many of the first are none any more
        self.passed = 0  # bytes that ended from these on
        self.ended = 0  # from any of them on

    def acquire(self, life: Life) -> None:
        lives = self.lives
        lives.append(life)
        if len(lives) >= self.purge:
            oldest = self._oldest()
            least = oldest.moment if oldest is not None else 1 << 62
            self.lives = [entry for entry in lives if entry.alive or entry.last >= least]
            self.purge = 2 * len(self.lives) + _FEW
        self.held = held = self.held + life.bytes
        if held > self.capacity:
            self.suspicions.append(Suspicion(life.first, life, held + self.ended))
            self.clock.careful = True
        elif held > self.peak:
            self.peak = held
        if self.suspicions:
            life.suspicions = len(self.suspicions)

    def release(self, life: Life) -> None:
        life.alive = False
        life.died = self.clock.count
        self.held -= life.bytes
        if self.suspicions:
            self._end(life)

    def _end(self, life: Life) -> None:
        """It was of no use at any moment since its last one."""
        at = bisect_left(self.suspicions, life.last, life.suspicions, key=_MOMENT)
        if at < len(self.suspicions):
            self.suspicions[at].ended += life.bytes
            self.ended += life.bytes
            if at < self.settled:
                self.passed += life.bytes

    def _oldest(self) -> Suspicion | None:
        """The first moment that may still turn out to need more than there is."""
        for suspicion in self.suspicions[self.settled :]:
            if suspicion.held - self.passed - suspicion.ended > self.capacity:
                return suspicion
            self.passed += suspicion.ended
            self.settled += 1
        return None

    def overflow(self) -> tuple[Life, list[Life]] | None:
        """At the end: the first allocation that does not fit, and the tiles that are in its way."""
        for life in self.lives:
            if life.alive:
                self._end(life)
        ended = 0
        for suspicion in self.suspicions:
            ended += suspicion.ended
            held = suspicion.held - ended
            if held > self.capacity:
                return suspicion.newest, sorted(self._holding(suspicion), key=lambda life: -life.bytes)
            self.peak = max(self.peak, held)
        return None

    def _holding(self, suspicion: Suspicion) -> Iterator[Life]:
        moment, newest = suspicion.moment, suspicion.newest
        for life in self.lives:  # in the order of their allocation
            if life is newest or (life.last > moment and (life.alive or life.died > moment)):
                yield life
            if life is newest:
                return


_MOMENT = attrgetter("moment")


class Form:
    """Buffer, type, shape and strides of a view: all of it but the address.

    Strides are in elements. On-chip tensors have the partition as dimension 0. Forms are
    interned, so equal layouts are one object: instructions are costed and checked
    once per combination of forms, whatever the addresses.
    """

    __slots__ = (
        "buffer",
        "children",
        "dtype",
        "elements",
        "free",
        "indirect",
        "memory",
        "nbytes",
        "on_chip",
        "partitions",
        "run_bytes",
        "shape",
        "strides",
    )  # fmt: skip

    def __init__(
        self,
        buffer: Buffer,
        dtype: DType,
        shape: Sizes,
        strides: Sizes,
        indirect: str = "",
    ) -> None:
        self.buffer = buffer
        self.memory = buffer.memory
        self.indirect = indirect  # "", or how elements are addressed at run time: scalar, vector, column
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.on_chip = buffer in (Buffer.SBUF, Buffer.PSUM)
        self.elements = prod(shape)
        self.nbytes = self.elements * dtype.size
        self.partitions = shape[0] if self.on_chip else 1
        self.free = prod(shape[1:]) if self.on_chip else self.elements
        self.run_bytes = self._run() * dtype.size
        # Views on it by how they are indexed, and where they begin.
        self.children: dict[Any, tuple[Form, int]] = {}

    def _run(self) -> int:
        """Elements that lie side by side, so that one DMA descriptor moves them."""
        run = 1
        for axis in range(len(self.shape) - 1, 0 if self.on_chip else -1, -1):
            size, stride = self.shape[axis], self.strides[axis]
            if size != 1 and stride != run:
                break
            run *= size
        return run

    @property
    def row_bytes(self) -> int:
        """Bytes per partition."""
        return self.free * self.dtype.size

    @property
    def contiguous(self) -> bool:
        """The free dimensions are one run."""
        return self.run_bytes == self.row_bytes

    def __repr__(self) -> str:
        how = f" ({self.indirect} indirect)" if self.indirect else ""
        return f"{self.dtype.name}{list(self.shape)}@{self.buffer.value}{how}"


_FORMS: dict[Any, Form] = {}
_MAX_FORMS = 1 << 16


def intern(buffer: Buffer, dtype: DType, shape: Sizes, strides: Sizes, indirect: str = "") -> Form:
    """The one Form of this layout. Dropping the table costs time, never correctness."""
    key = (buffer, dtype, shape, strides, indirect)
    form = _FORMS.get(key)
    if form is None:
        if len(_FORMS) >= _MAX_FORMS:
            _FORMS.clear()
        form = _FORMS[key] = Form(buffer, dtype, shape, strides, indirect)
    return form


class Cleared(NamedTuple):
    """A memset of zeros by its op, view and place in the source."""

    op: Op
    form: Form
    offset: int
    place: Place


class Storage(msgspec.Struct, eq=False):
    """One allocation. `data` is its bytes, None when only shapes are recorded.

    `written` tells which bytes of PSUM hold a value: a matmul overwrites the others. `place` is (memory,
    partition, byte) where the kernel chose the address itself: regions are then those of the memory.
    Views that begin before element `row` surely begin at partition 0. `cleared`: memsets of zeros in PSUM
    that were not carried out yet, since a product may overwrite them.
    """

    form: Form
    name: str
    life: Life
    ledger: Ledger | None
    row: int = 0
    place: tuple[Storage, int, int] | None = None
    data: npt.NDArray[np.uint8] | None = None
    written: npt.NDArray[np.bool_] | None = None
    cleared: list[Cleared] | None = None
    shadow: Any = None  # its `Cells`, where it is followed who writes what

    def __del__(self) -> None:
        if self.ledger is not None:
            self.ledger.release(self.life)


def checked_shape(shape: Any) -> Sizes:
    """`shape` as a tuple of positive integers; raises `KernelError`."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    try:
        result = tuple(int(size.__index__()) for size in sizes)
    except (AttributeError, TypeError):
        raise KernelError(f"shape {shape!r} is not made of integers ({here()})") from None
    if not result:
        raise KernelError(f"shape () has no dimension, of which the first is the partitions ({here()})")
    if any(size < 1 for size in result):
        raise KernelError(f"shape {list(result)} has no elements ({here()})")
    return result


def row_major(shape: Sizes) -> Sizes:
    """Strides in elements where each row lies after the other."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
