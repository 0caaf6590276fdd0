"""Cells: for each byte of one storage, the number of the instruction that wrote it.

0 is a byte that nobody wrote. A negative number is one whose value depends on such bytes. Numbers are kept
per element, and per byte only where the kernel looks at a tile as another type; of a storage that one
instruction wrote wholly there is a single number. Tiles placed by hand share bytes: a write to one is a write
to what lies under it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trnbench_emulator.nki.values import bytes_of
from trnbench_emulator.nki.view import Region, region_of

if TYPE_CHECKING:
    from trnbench_emulator.nki.memory import Form, Storage
    from trnbench_emulator.nki.op import Op
    from trnbench_emulator.nki.tensor import NkiTensor


Numbers = npt.NDArray[np.int32]


class Cells:
    """`uniform` counts where `array` is None. `granule`: bytes per number. `sound`: no number below 1."""

    __slots__ = ("__weakref__", "array", "granule", "nbytes", "neighbours", "sound", "uniform")

    def __init__(self, storage: Storage) -> None:
        self.granule = storage.form.dtype.size
        self.nbytes = storage.form.nbytes
        self.uniform = 0
        self.array: Numbers | None = None
        self.sound = False
        self.neighbours: list[Any] = []  # of tiles placed by hand: those that share bytes with it

    def numbers(self, form: Form, offset: int) -> Numbers:
        """Those of a view that is not indirect, with one more dimension where an element has several."""
        numbers = bytes_of(self._whole(form.dtype.size), form, offset, self.granule)
        return numbers[..., 0] if numbers.shape[-1] == 1 else numbers

    def seen(self, form: Form, offset: int) -> Any:
        """The same to look at, a single number where all of the storage has it."""
        return np.int32(self.uniform) if self.array is None else self.numbers(form, offset)

    def elements(self, size: int) -> Numbers:
        """All of them, a row for each element of `size` bytes."""
        return self._whole(size).reshape(-1, size // self.granule)

    def _whole(self, size: int) -> Numbers:
        array = self.array
        if array is None:
            self.granule = min(self.granule, size)
            array = self.array = np.full(self.nbytes // self.granule, self.uniform, np.int32)
        elif size < self.granule:
            array = self.array = np.repeat(array, self.granule // size)
            self.granule = size
        return array

    def fill(self, number: int) -> None:
        """All of the storage was written by one instruction."""
        self.array, self.uniform, self.sound = None, number, number > 0

    def covers(self, form: Form) -> bool:
        """Is a view of this form, without gaps, all of the storage?"""
        return form.nbytes == self.nbytes and not form.indirect


class _Tile(NamedTuple):
    """`region` of the whole memory."""

    cells: weakref.ref[Cells]
    region: Region


class Placed:
    """All tiles with `address=` that are still there."""

    def __init__(self) -> None:
        self._tiles: list[_Tile] = []

    def add(self, storage: Storage, cells: Cells) -> None:
        """A new one, and which of the others it lies over."""
        region = region_of(storage, storage.form, 0)
        newest = _Tile(weakref.ref(cells), region)
        self._tiles = [tile for tile in self._tiles if tile.cells() is not None]
        for tile in self._tiles:
            if tile.region.storage is region.storage and tile.region.meets(region):
                cells.neighbours.append(tile)
                older = tile.cells()
                if older is not None:
                    older.neighbours.append(newest)
        self._tiles.append(newest)

    @staticmethod
    def under(view: NkiTensor, cells: Cells) -> Iterator[tuple[Cells, Numbers]]:
        """The numbers of other tiles that `view` lies over."""
        (first, last), (start, end) = view.region.rows, view.region.bytes
        for tile in cells.neighbours:
            other, region = tile.cells(), tile.region
            if other is None or not region.meets(view.region):
                continue
            height, width = region.rows[1] - region.rows[0], region.bytes[1] - region.bytes[0]
            rows = other.elements(other.granule).reshape(height, width // other.granule)
            top, left = first - region.rows[0], start - region.bytes[0]
            bottom, right = last - region.rows[0], end - region.bytes[0]
            columns = slice(max(left, 0) // other.granule, -(-right // other.granule))
            yield other, rows[max(top, 0) : bottom, columns]


Marks = npt.NDArray[np.bool_]

_PRODUCTS = ("nc_matmul", "nc_matmul_mx")
_TURNED = ("nc_transpose", "dma_transpose")
_ALONG_ROWS = (
    "tensor_tensor_scan", "tensor_scalar_cumulative", "nc_n_gather", "local_gather", "range_select",
)  # fmt: skip
"""Results of as many elements as they read, each of which may depend on all of its partition."""


def spread(op: Op, dst: Form, operands: list[tuple[int, Form, Marks]]) -> Marks:
    """Which elements of `dst` depend on the marked ones of `operands`: position among the reads, form, marks.

    Where an instruction mixes elements in a way of its own, all of a partition does, or all of `dst`.
    """
    marks = np.zeros(dst.shape, np.bool_)
    for position, form, marked in operands:
        marks |= _through(op, dst, position, form, marked)
    return marks


def _through(op: Op, dst: Form, position: int, form: Form, marked: Marks) -> Any:
    opcode = op.opcode
    if opcode in _PRODUCTS:
        return _through_product(dst, position, form, marked)
    if opcode in _TURNED:
        if marked.ndim == 2 or op.engine == "tensor":
            return marked.reshape(form.shape[0], -1).T.reshape(dst.shape)
        return marked.any()
    if opcode == "nc_stream_shuffle":
        # Which partitions it picks is not known here: those are meant that hold nothing in any partition.
        return np.broadcast_to(
            marked.reshape(form.partitions, -1).all(axis=0), (dst.partitions, dst.free)
        ).reshape(dst.shape)
    if opcode == "tensor_partition_reduce":
        return np.resize(marked.reshape(form.partitions, -1).any(axis=0), dst.elements).reshape(dst.shape)
    if form.elements == dst.elements and opcode not in _ALONG_ROWS:
        return marked.reshape(dst.shape)
    if form.partitions != dst.partitions or not dst.on_chip:
        return marked.any()
    if opcode == "tensor_reduce":
        rest = form.free // dst.free
        return marked.reshape(dst.partitions, dst.free, rest).any(axis=2).reshape(dst.shape)
    rows = marked.reshape(form.partitions, -1).any(axis=1)
    return rows.reshape(-1, *([1] * (len(dst.shape) - 1)))


def _through_product(dst: Form, position: int, form: Form, marked: Marks) -> Any:
    """Of stationary [K, M] its columns are rows of the result, of moving [K, N] columns."""
    if position > 1:
        return marked.any()
    columns: Marks | np.bool_ = marked.reshape(form.shape[0], -1).any(axis=0)
    wanted = dst.partitions if position == 0 else dst.free
    if columns.size != wanted:  # two rows for each column
        columns = columns.reshape(-1, wanted).any(axis=0) if columns.size % wanted == 0 else columns.any()
    if position == 0:
        return np.broadcast_to(columns, (dst.partitions,)).reshape(-1, *([1] * (len(dst.shape) - 1)))
    return np.broadcast_to(np.broadcast_to(columns, (dst.free,)), (dst.partitions, dst.free)).reshape(
        dst.shape
    )
