"""Values of registers and tensors in functional mode, and addresses known only at run time."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import msgspec
import numpy as np
import numpy.typing as npt

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.dtype import Array
from trnbench_emulator.nki.memory import Form, Storage


def whole(value: Any, what: str) -> int:
    """`value` as an integer; raises `KernelError` where it is none, rather than cut it."""
    try:
        return operator.index(value)
    except TypeError:
        raise KernelError(f"{what} is {value!r}, it must be an integer ({site.here()})") from None


class LoopNumber(int):
    """The number of a round on the device: a register there, so that addresses may be made of it."""


class VirtualRegister(msgspec.Struct, eq=False):
    """A register: an integer, or the float of a tile. Its value is unknown where it was loaded from memory
    in timing mode. Not hashable: what depends on it has to be worked out again once it changes.
    """

    value: int | float | None = None

    def known(self, use: str) -> int | float:
        """The value; raises `KernelError` when no value flows through this run."""
        if self.value is None:
            raise KernelError(
                f"the value of a register decides {use}, and is not known ({site.here()})",
                cause="it was never set, or was loaded from memory while only shapes are recorded",
                try_="run the kernel with values (functional mode), which times it too",
            )
        return self.value

    def __bool__(self) -> bool:
        return self.known("a branch") != 0

    def __float__(self) -> float:
        return float(self.known("a number"))

    def __index__(self) -> int:
        value = self.known("an index")
        if value % 1 == 0:
            return int(value)
        raise KernelError(f"a register holds {value!r} where an integer is needed ({site.here()})")

    def _compared(self, other: object) -> NoReturn:
        raise KernelError(
            f"{self!r} is compared with {other!r} ({site.here()})",
            cause="a register has its value on the device, not while Python carries out the kernel",
            try_="compare tiles (nl.equal) and load the result; `while register:` ends at 0",
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared

    def __repr__(self) -> str:
        return f"VirtualRegister({'?' if self.value is None else self.value})"


def as_condition(tensor: Any) -> bool:
    """`__bool__` of tensors: `if tensor:` raises a `KernelError`."""
    raise KernelError(
        f"{tensor!r} is no condition ({site.here()})",
        cause="a kernel is traced before its tensors have values",
        try_="nl.where chooses by values; `tensor is not None` asks whether it is given",
    )


def bytes_of(array: Array, form: Form, offset: int, granule: int = 1) -> Array:
    """Of an array with a number for each `granule` bytes of a storage, those of a view on it: a row for each
    element."""
    count, width = form.dtype.size // granule, array.itemsize
    return np.ndarray(
        (*form.shape, count),
        array.dtype,
        buffer=array,
        offset=offset * count * width,
        strides=(*(stride * count * width for stride in form.strides), width),
    )


class Values:
    """Reads and writes the elements of a view."""

    __slots__ = ()
    __bool__ = as_condition

    storage: Storage
    form: Form
    offset: int

    @property
    def array(self) -> Array:
        """The elements as a NumPy view on the storage."""
        form, data = self.form, self.storage.data
        assert data is not None, "values exist in functional mode only"
        size = form.dtype.size
        return np.ndarray(
            form.shape,
            form.dtype.numpy,
            buffer=data,
            offset=self.offset * size,
            strides=tuple(stride * size for stride in form.strides),
        )

    def floats(self) -> npt.NDArray[np.float32]:
        """The elements in the 32-bit floats that engines compute in."""
        return self.array.astype(np.float32)

    def put(self, values: Array) -> None:
        """Store `values`, rounded to this tensor's type."""
        self.array[...] = self.form.dtype.cast(np.asarray(values)).reshape(self.form.shape)
        if self.storage.written is not None:
            self._marks()[...] = True

    def written(self) -> npt.NDArray[np.bool_]:
        """Which of these PSUM elements hold a value."""
        marks: npt.NDArray[np.bool_] = self._marks()[..., 0]
        return marks

    def _marks(self) -> npt.NDArray[np.bool_]:
        assert self.storage.written is not None
        return bytes_of(self.storage.written, self.form, self.offset)


_SNAKE = 16  # partitions over which offsets of .indirect() run; 32 for the tensor engine


class IndirectValues(Values):
    """Reads and writes the elements that an index picks. `step`: elements per unit of the index; `bound`: its
    end."""

    __slots__ = ()

    index: Any
    step: int
    bound: int

    def positions(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Element positions in the storage, and which of them lie inside."""
        form = self.form
        moved = {"vector": 0, "column": 1}.get(form.indirect)  # the axis whose indices differ
        grids = np.ogrid[tuple(slice(0, n) for n in form.shape)]
        places = np.full(form.shape, self.offset, np.int64)
        for axis, (grid, stride) in enumerate(zip(grids, form.strides, strict=True)):
            if axis != moved:
                places = places + grid * stride
        index = self._indices()
        shape = [1] * len(form.shape)
        if moved is not None:
            shape[moved] = len(index)
        inside = np.broadcast_to(((index >= 0) & (index < self.bound)).reshape(shape), form.shape)
        places = places + index.reshape(shape) * self.step
        if form.on_chip:  # an index does not lead to another partition
            row = self.storage.form.row_bytes // form.dtype.size
            inside = inside & (places // row == (self.offset + grids[0] * form.strides[0]) // row)
        total = self.storage.form.nbytes // form.dtype.size
        inside = inside & (places >= 0) & (places < total)
        return np.where(inside, places, 0), inside

    def _indices(self) -> npt.NDArray[np.int64]:
        if isinstance(self.index, VirtualRegister):
            return np.array([operator.index(self.index)], np.int64)
        values: npt.NDArray[np.int64] = self.index.array.astype(np.int64)
        if self.form.indirect == "column":
            rows = min(_SNAKE, values.shape[0])
            flat: npt.NDArray[np.int64] = values.reshape(values.shape[0], -1)[:rows].T.reshape(-1)
            return flat[: self.form.shape[1]]
        if self.form.indirect == "vector":
            # Several columns of indices follow each other, column by column.
            flat = values.reshape(values.shape[0], -1).T.reshape(-1)
            if len(flat) < self.form.shape[0]:
                raise KernelError(
                    f"ap: {self.form!r}: {self.form.shape[0]} rows need as many indices, got {len(flat)} "
                    f"({site.here()})"
                )
            return flat[: self.form.shape[0]]
        return values.reshape(-1)[:1]

    def inside(self, call: str, *, skip: bool) -> npt.NDArray[np.bool_]:
        """Which elements are addressed inside the tensor; raises `KernelError` unless `skip`."""
        inside = self.positions()[1]
        if not skip and not inside.all():
            indices, axis = self._indices(), int(self.form.indirect == "column")
            rows = np.array(np.moveaxis(inside, axis, 0).reshape(inside.shape[axis], -1).all(axis=1))
            wrong = (indices[~rows] if len(indices) == len(rows) else indices).tolist()
            more = f" and {len(wrong) - 4:,} more" if len(wrong) > 4 else ""
            raise KernelError(
                f"{call}: an index is outside {self.storage.form!r}: {', '.join(map(str, wrong[:4]))}{more} "
                f"({site.here()})",
                cause=f"indices are 0 to {self.bound - 1} here, and all that one leads to lies inside",
                try_="oob_mode=nisa.oob_mode.skip leaves out what is outside" if call[:3] == "dma" else "",
            )
        return inside

    def repeated(self) -> int | None:
        """An index inside that occurs twice."""
        indices = self._indices()
        indices, counts = np.unique(indices[(indices >= 0) & (indices < self.bound)], return_counts=True)
        return int(indices[counts > 1][0]) if (counts > 1).any() else None

    @property
    def array(self) -> Array:
        data = self.storage.data
        assert data is not None, "values exist in functional mode only"
        flat: Array = data.view(self.form.dtype.numpy)
        return flat[self.positions()[0]]

    def put(self, values: Array) -> None:
        data = self.storage.data
        assert data is not None
        positions, inside = self.positions()
        cast = self.form.dtype.cast(np.asarray(values)).reshape(self.form.shape)
        data.view(self.form.dtype.numpy)[positions[inside]] = cast[inside]
