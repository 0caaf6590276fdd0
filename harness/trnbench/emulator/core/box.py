"""Where a view lies in its storage: the box of rows and bytes that dependencies are found by."""

from __future__ import annotations

from typing import Any

from trnbench.nki.memory import Form
from trnbench.nki.tensor import NkiTensor

Box = tuple[int, int, int, int]
"""First row, end of rows, first byte of a row, end of bytes."""

_KNOWN: dict[tuple[Form, Form, int], Box] = {}
_MOST = 1 << 16


def box_of(view: NkiTensor) -> Box:
    """Of any view; those addressed at run time cover their whole storage."""
    storage, form = view.storage, view.form
    if not form.indirect and storage.place is None:
        return direct_box(form, storage.form, view.offset)
    region = view.region
    if region.storage.form.on_chip:
        size = region.storage.form.dtype.size
        return (*region.partition, region.free[0] * size, region.free[1] * size)
    root = region.storage.form
    return (0, root.shape[0], 0, root.nbytes // root.shape[0])


def known_box(form: Form, root: Form, offset: int) -> Box:
    """`direct_box`, remembered over recordings: kernels come to the same views again."""
    key = (form, root, offset)
    box = _KNOWN.get(key)
    if box is None:
        if len(_KNOWN) >= _MOST:
            _KNOWN.clear()
        box = _KNOWN[key] = direct_box(form, root, offset)
    return box


def direct_box(form: Form, root: Form, offset: int) -> Box:
    """Rows and bytes of a row; a view across rows of HBM takes whole rows."""
    size = form.dtype.size
    row = root.free * root.dtype.size if root.on_chip else root.nbytes // root.shape[0]
    first, start = divmod(offset * size, row)
    low, high = _span(form.shape[1:], form.strides[1:], size)
    step = form.strides[0] * size
    if step % row == 0 and start + low >= 0 and start + high <= row:
        last = first + (form.shape[0] - 1) * (step // row)
        return (min(first, last), max(first, last) + 1, start + low, start + high)
    low, high = _span(form.shape, form.strides, size)
    begin, end = offset * size + low, offset * size + high
    if begin // row == (end - 1) // row:
        return (begin // row, begin // row + 1, begin % row, (end - 1) % row + 1)
    return (begin // row, (end - 1) // row + 1, 0, row)


def _span(shape: Any, strides: Any, size: int) -> tuple[int, int]:
    low = high = 0
    for count, stride in zip(shape, strides, strict=True):
        reach = (count - 1) * stride * size
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + size
