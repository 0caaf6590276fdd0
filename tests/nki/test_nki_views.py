"""Views agree with NumPy's, and their regions cover what they touch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nki_machine import V3

from trnbench.errors import KernelError
from trnbench_emulator.nki.dtype import DTYPES
from trnbench_emulator.nki.instruction import Listing
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.recorder import Recorder
from trnbench_emulator.nki.tensor import NkiTensor


def _tensor(shape: tuple[int, ...], buffer: Buffer = Buffer.HBM) -> tuple[NkiTensor, np.ndarray[Any, Any]]:
    recorder = Recorder(V3, Listing(), functional=True)
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    tensor = recorder.allocate(shape, DTYPES["float32"], buffer)
    tensor.put(values)
    return tensor, values


@st.composite
def _slices(draw: st.DrawFn, size: int) -> slice:
    start = draw(st.integers(0, size - 1))
    return slice(start, draw(st.integers(start + 1, size)), draw(st.integers(1, 3)))


@given(st.data())
def test_slicing_is_numpys(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    tensor, values = _tensor(shape)
    for _ in range(2):
        if not tensor.shape:
            break
        index = tuple(data.draw(st.one_of(_slices(size), st.integers(0, size - 1))) for size in tensor.shape)
        tensor, values = tensor[index], np.atleast_1d(values[index])
        np.testing.assert_array_equal(tensor.array, values)
        assert tensor.shape == values.shape


@given(st.data())
def test_reshape_permute_and_slices_compose(data: st.DataObject) -> None:
    tensor, values = _tensor((4, 6, 10))
    tensor, values = tensor[1:3], values[1:3]
    for _ in range(3):
        if data.draw(st.booleans()):
            order = tuple(data.draw(st.permutations(range(len(tensor.shape)))))
            tensor, values = tensor.permute(order), values.transpose(order)
        else:
            shape = data.draw(st.sampled_from([(2, 60), (2, 6, 5, 2), (120,), (12, 10), (2, 6, 10)]))
            if not np.shares_memory(values.reshape(shape), values):
                with pytest.raises(KernelError, match="needs a copy"):
                    tensor.reshape(shape)
                return
            tensor, values = tensor.reshape(shape), values.reshape(shape)
        np.testing.assert_array_equal(tensor.array, values)


@given(st.data())
def test_a_region_covers_the_view_and_stays_in_its_partitions(data: st.DataObject) -> None:
    tensor, _ = _tensor((8, 3, 5), Buffer.SBUF)
    view = tensor[tuple(data.draw(_slices(size)) for size in tensor.shape)]
    touched = np.zeros((8, 15), bool)
    root = np.arange(120).reshape(8, 15)
    touched[np.isin(root, view.array.astype(int).ravel())] = True
    rows, columns = np.nonzero(touched)
    region = view.region
    assert region.storage is tensor.storage
    assert region.partition == (rows.min(), rows.max() + 1)
    assert region.free == (columns.min(), columns.max() + 1)


def test_an_index_keeps_the_partition_dimension_on_chip() -> None:
    tensor, values = _tensor((8, 3, 5), Buffer.SBUF)
    assert tensor[2].shape == (1, 3, 5)
    assert tensor[:, 1].shape == (8, 5)
    assert tensor[2, 1, 3].shape == (1, 1)
    np.testing.assert_array_equal(tensor[..., 4].array, values[..., 4])


def test_access_patterns_and_broadcasts() -> None:
    tensor, values = _tensor((8, 15), Buffer.SBUF)
    diagonal = tensor.ap([[15, 4], [1, 3]], offset=16)
    np.testing.assert_array_equal(diagonal.array, values[1:5, 1:4])
    wide = tensor[:, 0:1].broadcast(1, 7)
    np.testing.assert_array_equal(wide.array, np.repeat(values[:, :1], 7, axis=1))
    np.testing.assert_array_equal(tensor.expand_dim(1).array, values[:, None])


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda t: t[0:9], "[0:9] is outside dimension 0 (size 8) of float32[8, 15]@sbuf"),
        (lambda t: t[0, 15], "index 15 is outside dimension 1 (size 15) of float32[8, 15]@sbuf"),
        (lambda t: t.reshape((15, 8)), "reshape: [8, 15] to [15, 8] moves elements across partitions"),
        (lambda t: t.reshape((8, 16)), "reshape: [8, 15] has 120 elements, [8, 16] has 128"),
        (lambda t: t.permute((1, 0)), "permute: (1, 0) is no order of the dimensions of float32[8, 15]@sbuf"),
        (
            lambda t: t.ap([[15, 8], [1, 16]]),
            ".ap([[15, 8], [1, 16]], offset=0) reaches outside float32[8, 15]@sbuf",
        ),
        (lambda t: t[np.arange(3)], "index of type ndarray on float32[8, 15]@sbuf"),
    ],
)
def test_what_no_view_can_do(use: Any, message: str) -> None:
    tensor, _ = _tensor((8, 15), Buffer.SBUF)
    with pytest.raises(KernelError) as caught:
        use(tensor)
    assert caught.value.what.startswith(message)
    assert "test_nki_views.py:" in caught.value.what
