"""Where a view lies in its storage: the box of rows and bytes that dependencies are found by."""

from __future__ import annotations

from typing import Any

from trnbench_emulator.nki.memory import Form
from trnbench_emulator.nki.tensor import NkiTensor

Box = tuple[int, ...]
"""First row, end of rows, first byte of a row, end of bytes; of a tensor in device memory with three
dimensions or more then the first index and the end in each of them."""

BOXES: dict[tuple[Form, Form, int], Box] = {}
"""Boxes of views by form, form of the storage and offset, as far as they are remembered."""
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
    whole = tuple(each for size in root.shape for each in (0, size)) if len(root.shape) > 2 else ()
    return (0, root.shape[0], 0, root.nbytes // root.shape[0], *whole)


def known_box(form: Form, root: Form, offset: int) -> Box:
    """`direct_box`, remembered over recordings: kernels come to the same views again."""
    key = (form, root, offset)
    box = BOXES.get(key)
    if box is None:
        if len(BOXES) >= _MOST:
            BOXES.clear()
        box = BOXES[key] = direct_box(form, root, offset)
    return box


def direct_box(form: Form, root: Form, offset: int) -> Box:
    """Rows and bytes of a row; a view across rows of HBM takes whole rows.

    Of a tensor in HBM with more dimensions than rows and bytes the index in each is found as well: stores
    of disjoint slices of an image touch no element of each other, though all reach from its first row to
    its last.
    """
    rows = _rows(form, root, offset)
    return rows if root.on_chip or len(root.shape) < 3 else (*rows, *_indices(form, root, offset))


def joined(one: Box, other: Box) -> Box | None:
    """The box of both, where it holds nothing else: they are alike but in one dimension, and touch there."""
    differ = [at for at in range(0, len(one), 2) if one[at : at + 2] != other[at : at + 2]]
    if len(one) > 4:
        differ = [at for at in differ if at >= 4]
    if len(differ) > 1:
        return None
    if differ and (one[differ[0] + 1] < other[differ[0]] or other[differ[0] + 1] < one[differ[0]]):
        return None
    return tuple((max if at % 2 else min)(pair) for at, pair in enumerate(zip(one, other, strict=True)))


def _rows(form: Form, root: Form, offset: int) -> Box:
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


def _indices(form: Form, root: Form, offset: int) -> tuple[int, ...]:
    """First index and end in each dimension of `root`, which lies in memory row by row."""
    strides = [1]
    for each in reversed(root.shape[1:]):
        strides.insert(0, strides[0] * each)
    if form.dtype.size == root.dtype.size:
        first = _index(offset, strides)
        last = list(first)
        for count, stride in zip(form.shape, form.strides, strict=True):
            if count == 1 or not stride:
                continue
            axis = next((at for at, each in enumerate(strides) if 0 < each <= stride), None)
            if axis is None or stride % strides[axis]:
                break
            last[axis] += (count - 1) * (stride // strides[axis])
        else:
            if all(at < size for at, size in zip(last, root.shape, strict=True)):
                return tuple(each for at, end in zip(first, last, strict=True) for each in (at, end + 1))
    # A view that goes on from one row of a dimension to the next: from its first element to its last.
    size = form.dtype.size
    low, high = _span(form.shape, form.strides, size)
    first = _index((offset * size + low) // root.dtype.size, strides)
    last = _index((offset * size + high - 1) // root.dtype.size, strides)
    found: list[int] = []
    for at, end, whole in zip(first, last, root.shape, strict=True):
        apart = len(found) > 0 and found[-1] - found[-2] > 1
        found += [0, whole] if apart else [at, end + 1]
    return tuple(found)


def _index(offset: int, strides: list[int]) -> list[int]:
    found = []
    for stride in strides:
        at, offset = divmod(offset, stride)
        found.append(at)
    return found


def _span(shape: Any, strides: Any, size: int) -> tuple[int, int]:
    low = high = 0
    for count, stride in zip(shape, strides, strict=True):
        reach = (count - 1) * stride * size
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + size
