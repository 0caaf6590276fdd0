"""Storage of a kernel: allocations, and the layout of views on them."""

from __future__ import annotations

from enum import Enum
from math import prod
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from trnbench.errors import KernelError
from trnbench_emulator.nki.dtype import DType
from trnbench_emulator.nki.ledger import Ledger, Life
from trnbench_emulator.nki.op import Op
from trnbench_emulator.nki.site import Place


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
        "parts",
        "run_bytes",
        "shape",
        "strides",
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
        # Views on it by how they are made, and where they begin: of two slices, and of anything else.
        self.parts: dict[Any, tuple[Form, int]] = {}
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

    def __del__(self) -> None:
        ledger = self.ledger
        if ledger is not None:  # as `Ledger.release`, which costs a call for every tile
            life = self.life
            life.alive = False
            life.died = ledger.clock.count
            ledger.held -= life.bytes


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
