"""Shape and strides of views: what indexing and reshaping make of a layout."""

from __future__ import annotations

from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.memory import Form, intern


def indexed(form: Form, index: tuple[Any, ...]) -> tuple[Form, int]:
    """The form and offset of `tensor[index]`. Out of bounds is an error, not cut off as in NumPy."""
    shape, strides = form.shape, form.strides
    if any(each is Ellipsis for each in index):
        position = next(i for i, each in enumerate(index) if each is Ellipsis)
        index = (*index[:position], *[slice(None)] * (len(shape) - len(index) + 1), *index[position + 1 :])
    if len(index) > len(shape):
        raise KernelError(f"{len(index)} indices on {form!r} ({site.here()})")
    index = (*index, *[slice(None)] * (len(shape) - len(index)))
    new_shape: list[int] = []
    new_strides: list[int] = []
    offset = 0
    for axis, (entry, size, stride) in enumerate(zip(index, shape, strides, strict=True)):
        if isinstance(entry, slice):
            start = 0 if entry.start is None else int(entry.start)
            stop = size if entry.stop is None else int(entry.stop)
            step = 1 if entry.step is None else int(entry.step)
            start, stop = (start + size if start < 0 else start), (stop + size if stop < 0 else stop)
            if start < 0 or stop > size or step < 1 or stop <= start:
                raise KernelError(
                    f"[{entry.start}:{entry.stop}] is outside dimension {axis} (size {size}) of {form!r} "
                    f"({site.here()})",
                    try_="mind the last, smaller tile when the size is no multiple of the tile",
                )
            new_shape.append((stop - start + step - 1) // step)
            new_strides.append(stride * step)
            offset += start * stride
            continue
        try:
            position = int(entry.__index__())
        except (AttributeError, TypeError):
            raise KernelError(
                f"index of type {type(entry).__name__} on {form!r} ({site.here()})",
                cause="integers and slices are emulated; index tensors and masks are not",
                try_="use slices, nl.ds(start, size) or .ap(…)",
            ) from None
        position = position + size if position < 0 else position
        if not 0 <= position < size:
            raise KernelError(
                f"index {entry} is outside dimension {axis} (size {size}) of {form!r} ({site.here()})"
            )
        offset += position * stride
        if form.on_chip and axis == 0:  # one partition is still a partition dimension
            new_shape.append(1)
            new_strides.append(stride)
    if form.on_chip and len(new_shape) == 1:
        new_shape.append(1)
        new_strides.append(1)
    if not new_shape:
        new_shape, new_strides = [1], [1]
    return intern(form.buffer, form.dtype, tuple(new_shape), tuple(new_strides), form.indirect), offset


def reshaped(form: Form, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of the reshaped view; raises where only a copy could do it.

    Neighbouring dimensions that lie in one run are merged, then split as asked, innermost first.
    """
    fixed = 1 if form.on_chip else 0
    runs: list[tuple[int, int]] = []  # (elements, stride), outermost first
    for size, stride in zip(form.shape[fixed:], form.strides[fixed:], strict=True):
        if size == 1:
            continue
        if runs and runs[-1][1] == size * stride:
            runs[-1] = (runs[-1][0] * size, stride)
        else:
            runs.append((size, stride))
    strides: list[int] = []
    left, stride = runs.pop() if runs else (1, 1)
    for size in reversed(sizes[fixed:]):
        if left == 1 and size != 1 and runs:
            left, stride = runs.pop()
        if left % size:
            raise KernelError(
                f"reshape: {form!r} to {list(sizes)} needs a copy, its elements are not in one run "
                f"({site.here()})",
                try_="reshape before slicing, or copy the tile first",
            )
        strides.append(stride)
        stride *= size
        left //= size
    return (*form.strides[:fixed], *reversed(strides))


def grouped(form: Form, source: Any, target: Any, sizes: dict[str, int]) -> tuple[Any, Any, Any]:
    """How `rearrange` goes from names to views: splits (dimension, sizes), the order, ranges to merge.

    Raises `KernelError` when the patterns do not name the same dimensions, or sizes are missing.
    """
    names: list[str] = []
    split: list[tuple[int, tuple[int, ...]]] = []
    if len(source) != len(form.shape):
        raise KernelError(
            f"rearrange: {source!r} names {len(source)} dimensions, {form!r} has {len(form.shape)} "
            f"({site.here()})"
        )
    for dim, each in enumerate(source):
        parts = (each,) if isinstance(each, str) else tuple(each)
        names += parts
        known = [sizes.get(part, -1) for part in parts]
        if len(parts) == 1:
            continue
        if known.count(-1) > 1:
            raise KernelError(
                f"rearrange: the sizes of {', '.join(parts)} are not given ({site.here()})",
                try_="fixed_sizes={name: size} for all but one of a group",
            )
        split.append((dim, tuple(known)))
    wanted = [part for each in target for part in ((each,) if isinstance(each, str) else each)]
    if sorted(wanted) != sorted(names) or len(set(names)) != len(names):
        raise KernelError(
            f"rearrange: {source!r} and {target!r} do not name the same dimensions ({site.here()})"
        )
    merged: list[tuple[int, int]] = []
    at = 0
    for each in target:
        count = 1 if isinstance(each, str) else len(each)
        if count > 1:
            merged.append((at, at + count - 1))
        at += count
    return split, tuple(names.index(each) for each in wanted), merged


def wrong(form: Form, call: str, why: str) -> KernelError:
    """What to raise where a view of `form` cannot be made."""
    return KernelError(f"{call}: {form!r}: {why} ({site.here()})")
