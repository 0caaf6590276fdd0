"""Storage of a kernel: allocations, the layout of views on them, and who holds how much when."""

from __future__ import annotations

from enum import Enum
from itertools import count
from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from trnbench.errors import KernelError
from trnbench.nki.dtype import DType


class Buffer(str, Enum):
    """Where a tensor lives. The three sorts of HBM differ only in who may see them."""

    SBUF = "sbuf"
    PSUM = "psum"
    HBM = "hbm"
    PRIVATE_HBM = "private_hbm"
    SHARED_HBM = "shared_hbm"

    def __str__(self) -> str:
        return self.value

    @property
    def memory(self) -> str:
        """`sbuf`, `psum` or `hbm`."""
        return self.value.rpartition("_")[2]


class Form:
    """Buffer, type, shape and strides of a view: all of it but the address.

    Strides are in elements. On-chip tensors have the partition as dimension 0. Forms are
    interned, so equal layouts are one object: instructions are costed and checked
    once per combination of forms, whatever the addresses.
    """

    __slots__ = (
        "buffer", "children", "dtype", "elements", "free", "indirect", "nbytes", "on_chip", "partitions",
        "run_bytes", "shape", "strides",
    )  # fmt: skip

    def __init__(
        self,
        buffer: Buffer,
        dtype: DType,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        indirect: str = "",
    ) -> None:
        self.buffer = buffer
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
    def contiguous(self) -> bool:
        """The free dimensions are one run."""
        return self.run_bytes == self.free * self.dtype.size

    def __repr__(self) -> str:
        how = f" ({self.indirect} indirect)" if self.indirect else ""
        return f"{self.dtype.name}{list(self.shape)}@{self.buffer.value}{how}"


_FORMS: dict[Any, Form] = {}
_MAX_FORMS = 1 << 16


def intern(
    buffer: Buffer, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], indirect: str = ""
) -> Form:
    """The one Form of this layout. Dropping the table costs time, never correctness."""
    key = (buffer, dtype, shape, strides, indirect)
    found = _FORMS.get(key)
    if found is None:
        if len(_FORMS) >= _MAX_FORMS:
            _FORMS.clear()
        found = _FORMS[key] = Form(buffer, dtype, shape, strides, indirect)
    return found


AGES = count()
"""Numbers lives in the order of their beginnings."""


class Life:
    """From allocation to last use, counted in instructions. `bytes` per partition.

    `died`: how many instructions had been issued when Python dropped the tile. `age`: younger ones have more.
    """

    __slots__ = ("age", "alive", "bytes", "died", "first", "last", "name", "site")

    def __init__(self, first: int, size: int, name: str, site: str) -> None:
        self.first = self.last = first
        self.bytes = size
        self.name = name
        self.site = site
        self.alive = True
        self.died = -1
        self.age = next(AGES)


class Storage:
    """One allocation. `data` is its bytes, None when only shapes are recorded.

    `written` tells which bytes of PSUM hold a value: a matmul overwrites the others. `row` is the
    offset of the second partition. `place` is (memory, partition, byte) where the kernel chose the
    address itself: regions are then those of the memory.
    """

    __slots__ = ("data", "form", "ledger", "life", "name", "place", "row", "written")

    def __init__(self, form: Form, name: str, life: Life, ledger: Ledger | None) -> None:
        self.form = form
        self.row = form.free if form.on_chip else 1 << 62
        self.place: tuple[Storage, int, int] | None = None
        self.name = name
        self.life = life
        self.ledger = ledger
        self.data: npt.NDArray[np.uint8] | None = None
        self.written: npt.NDArray[np.bool_] | None = None

    def __del__(self) -> None:
        if self.ledger is not None:
            self.ledger.release(self.life)


class Clock(Protocol):
    """Counts instructions."""

    count: int


class Ledger:
    """Bytes per partition of one on-chip memory, and proof that they fit.

    A tile is held from its allocation to its last use, as a compiler that knows the whole kernel
    would hold it. Python's references only bound that from above (a loop variable keeps the last
    tile of the round before), so an excess of referenced bytes is a suspicion, settled as
    soon as the tiles concerned are gone.
    """

    __slots__ = ("capacity", "clock", "held", "live", "memory", "peak", "suspicions")

    def __init__(self, memory: str, capacity: int, clock: Clock) -> None:
        self.clock = clock
        self.memory = memory
        self.capacity = capacity
        self.held = 0
        self.peak = 0
        self.live: set[Life] = set()
        self.suspicions: list[tuple[int, Life, list[Life]]] = []

    def acquire(self, life: Life) -> None:
        self.live.add(life)
        self.held += life.bytes
        if self.held <= self.capacity:
            self.peak = max(self.peak, self.held)
            return
        if self.suspicions:
            self.suspicions = [each for each in self.suspicions if self._open(each)]
        self.suspicions.append((life.first, life, list(self.live)))

    def release(self, life: Life) -> None:
        life.alive = False
        life.died = self.clock.count
        self.live.discard(life)
        self.held -= life.bytes

    def _open(self, suspicion: tuple[int, Life, list[Life]]) -> bool:
        """May this moment still turn out to need more than there is?"""
        moment, newest, lives = suspicion
        held = sum(life.bytes for life in lives if life.alive or life.last > moment or life is newest)
        if held > self.capacity:
            return True
        self.peak = max(self.peak, held)
        return False

    def overflow(self) -> tuple[Life, list[Life]] | None:
        """At the end: the first allocation that does not fit, and the tiles that are in its way."""
        for moment, newest, lives in self.suspicions:
            holding = [life for life in lives if life.last > moment or life is newest]
            held = sum(life.bytes for life in holding)
            if held > self.capacity:
                return newest, sorted(holding, key=lambda life: -life.bytes)
            self.peak = max(self.peak, held)
        return None


def checked_shape(shape: Any, site: str) -> tuple[int, ...]:
    """`shape` as a tuple of positive integers; raises `KernelError`."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    try:
        result = tuple(int(each.__index__()) for each in sizes)
    except (AttributeError, TypeError):
        raise KernelError(f"shape {shape!r} is not made of integers ({site})") from None
    if not result or any(each < 1 for each in result):
        raise KernelError(f"shape {list(result)} has no elements ({site})")
    return result
