"""The box of memory that a view touches."""

from __future__ import annotations

from typing import NamedTuple

from trnbench_emulator.nki.memory import Form, Storage


class Region(NamedTuple):
    """The box of memory a view touches: partitions and elements of a partition, ends excluded.

    Tensors in HBM have one partition. Views with gaps are covered by their box. Tiles that the kernel
    placed itself share one storage, whose elements are bytes.
    """

    storage: Storage
    partition: tuple[int, int]
    free: tuple[int, int]

    def meets(self, other: Region) -> bool:
        """Do two boxes of one storage share an element?"""
        (first, last), (start, end) = other.partition, other.free
        return (
            self.partition[0] < last
            and first < self.partition[1]
            and self.free[0] < end
            and start < self.free[1]
        )


def region_of(storage: Storage, form: Form, offset: int) -> Region:
    """What of `storage` a view of this form covers from `offset` on, for dependencies."""
    root = storage.form
    if form.indirect:
        return _placed(storage, 0, root.partitions, 0, root.free)
    old, new = form.dtype.size, root.dtype.size
    if not form.on_chip:
        low, high = _span(form.shape, form.strides)
        return Region(storage, (0, 1), ((offset + low) * old // new, -(-(offset + high + 1) * old // new)))
    per_partition = root.free * new // old
    first, start = divmod(offset, per_partition)
    step = form.strides[0] // per_partition if per_partition else 0
    last = first + (form.shape[0] - 1) * step
    low, high = _span(form.shape[1:], form.strides[1:])
    return _placed(
        storage,
        min(first, last),
        max(first, last) + 1,
        (start + low) * old // new,
        -(-(start + high + 1) * old // new),
    )


def _placed(storage: Storage, first: int, last: int, start: int, end: int) -> Region:
    if storage.place is None:
        return Region(storage, (first, last), (start, end))
    memory, partition, byte = storage.place
    size = storage.form.dtype.size
    return Region(memory, (first + partition, last + partition), (byte + start * size, byte + end * size))


def _span(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    low = high = 0
    for n, s in zip(shape, strides, strict=True):
        if s < 0:
            low += (n - 1) * s
        else:
            high += (n - 1) * s
    return low, high
