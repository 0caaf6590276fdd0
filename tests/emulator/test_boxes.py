"""Boxes of memory: what two views share is never missed, and disjoint slices of an image share nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench_emulator.core.scoreboard import overlap
from trnbench_emulator.core.tile import direct_box, joined
from trnbench_emulator.nki.dtype import dtype_of
from trnbench_emulator.nki.memory import Buffer, Form, intern
from trnbench_emulator.nki.view import indexed


def root_of(*shape: int, buffer: Buffer = Buffer.HBM) -> Form:
    strides = tuple(int(np.prod(shape[at + 1 :])) for at in range(len(shape)))
    return intern(buffer, dtype_of("float32"), shape, strides)


def box(root: Form, *index: Any) -> tuple[int, ...]:
    form, offset = indexed(root, index)
    return direct_box(form, root, offset)


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ((0, slice(0, 128), 3), (0, slice(0, 128), 4), False),
        ((0, slice(0, 128), 3), (0, slice(128, 256), 3), False),
        ((0, slice(0, 128), 3), (0, slice(64, 192), 3), True),
        ((0, slice(0, 128), slice(2, 4)), (0, slice(0, 128), slice(3, 5)), True),
    ],
)
def test_rows_of_an_image(one: Any, other: Any, share: bool) -> None:
    image = root_of(1, 256, 222, 222)
    assert overlap(box(image, *one), box(image, *other)) is share


_SIDE = st.tuples(st.integers(0, 5), st.integers(1, 6), st.integers(1, 3))


@given(shape=st.lists(st.integers(1, 6), min_size=1, max_size=4), data=st.data())
def test_no_shared_element_is_missed(shape: list[int], data: st.DataObject) -> None:
    root, elements = root_of(*shape), np.arange(int(np.prod(shape))).reshape(shape)
    found = []
    for _ in range(2):
        index = tuple(slice(low % size, None if count > size else count, step) for size in shape
                      for low, count, step in [data.draw(_SIDE)])  # fmt: skip
        picked = elements[index]
        found.append((set(picked.ravel().tolist()), index))
    if all(members for members, _ in found):
        (one, at), (other, there) = found
        if one & other:
            assert overlap(box(root, *at), box(root, *there))


def test_boxes_that_touch_become_one() -> None:
    assert joined((0, 4, 0, 8), (0, 4, 8, 16)) == (0, 4, 0, 16)
    assert joined((0, 4, 0, 8), (4, 6, 0, 8)) == (0, 6, 0, 8)
    assert joined((0, 4, 0, 8), (0, 4, 12, 16)) is None
    assert joined((0, 4, 0, 8), (4, 6, 8, 16)) is None
    assert joined((0, 1, 0, 64, 0, 1, 0, 4), (0, 1, 16, 80, 0, 1, 4, 6)) == (0, 1, 0, 80, 0, 1, 0, 6)
