"""How unwritten bytes spread through an instruction: which elements of its result depend on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from trnbench_emulator.nki.memory import Form
    from trnbench_emulator.nki.op import Op

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
    columns = marked.reshape(form.shape[0], -1).any(axis=0)
    wanted = dst.partitions if position == 0 else dst.free
    if columns.size != wanted:  # two rows for each column
        columns = columns.reshape(-1, wanted).any(axis=0) if columns.size % wanted == 0 else columns.any()
    if position == 0:
        return np.broadcast_to(columns, (dst.partitions,)).reshape(-1, *([1] * (len(dst.shape) - 1)))
    return np.broadcast_to(np.broadcast_to(columns, (dst.free,)), (dst.partitions, dst.free)).reshape(
        dst.shape
    )
