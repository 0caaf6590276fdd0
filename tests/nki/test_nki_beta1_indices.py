"""Indices of Beta 1: blocks, masks, what leaves a tensor; each against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from beta1_kernel import Run, made
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.errors import KernelError
from trnbench_emulator.nki.beta1.index import Grid, Mask, arange, box_of

# Indices ------------------------------------------------------------------------------------------
SIZES = st.integers(1, 6)


def test_dimensions_before_the_partition_are_blocks_of_their_own(beta1: Run) -> None:
    x = made(256, 32)
    found = beta1(
        """
        @nki.jit
        def kernel(x):
            out = nl.ndarray((256, 32), x.dtype, buffer=nl.shared_hbm)
            tiles = nl.ndarray((2, nl.par_dim(128), 32), dtype=x.dtype, buffer=nl.sbuf)
            i_p, i_f = nl.arange(128)[:, None], nl.arange(32)[None, :]
            for n in nl.affine_range(2):
                tiles[n, i_p, i_f] = nl.load(x[n * 128 + i_p, i_f])
            for n in nl.affine_range(2):
                nl.store(out[n * 128 + i_p, i_f], value=tiles[1 - n, i_p, i_f])
            return out
        """,
        x,
    )
    assert np.array_equal(found.outputs[0], np.roll(x, 128, axis=0))
    storages = {view.storage for each in found.instructions for view in each.writes if view.form.on_chip}
    assert len(storages) == 2


@pytest.mark.parametrize("rows", [100, 128, 200, 256])
def test_masks_keep_the_last_tile_inside(beta1: Run, rows: int) -> None:
    x = made(rows, 70)
    found = beta1(
        """
        @nki.jit
        def kernel(x):
            out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
            rows, columns = x.shape
            i_p, i_f = nl.arange(128)[:, None], nl.arange(512)[None, :]
            for n in nl.affine_range(-(-rows // 128)):
                inside = (n * 128 + i_p < rows) & (i_f < columns)
                tile = nl.load(x[n * 128 + i_p, i_f], mask=inside)
                nl.store(out[n * 128 + i_p, i_f], nl.multiply(tile, 2.0, mask=inside), mask=inside)
            return out
        """,
        x,
    )
    assert np.array_equal(found.outputs[0], 2 * x)


def test_an_index_without_a_mask_must_stay_inside(beta1: Run) -> None:
    with pytest.raises(KernelError) as caught:
        beta1(
            """
            @nki.jit
            def kernel(x):
                tile = nl.load(x[nl.arange(128)[:, None], nl.arange(64)[None, :]])
                return x
            """,
            made(100, 64),
        )
    assert caught.value.what == (
        "index 127 is outside a dimension of size 100 of float32[128, 64]@hbm (old.py:9)"
    )
    assert caught.value.try_ == "keep the index inside with a mask: mask=index < size"


def test_a_column_of_a_tile_is_a_tile(beta1: Run) -> None:
    x = made(128, 8)
    found = beta1(
        """
        @nki.jit
        def kernel(x):
            out = nl.ndarray((128, 1), x.dtype, buffer=nl.shared_hbm)
            tile = nl.load(x)
            column = nl.copy(tile[:, 3])
            assert column.shape == (128, 1)
            tile[:, 3] = nl.maximum(column, nl.max(tile, axis=(1,)))
            nl.store(out, tile[:, 3])
            return out
        """,
        x,
    )
    assert np.array_equal(found.outputs[0][:, 0], x.max(1))


@given(SIZES, SIZES, st.integers(-5, 5), st.integers(-3, 3), st.integers(-3, 3))
def test_an_index_is_what_numpy_makes_of_it(rows: int, columns: int, const: int, a: int, b: int) -> None:
    grid = a * arange(rows)[:, None] + const + arange(columns)[None, :] * b
    dense = a * np.arange(rows)[:, None] + const + np.arange(columns)[None, :] * b
    assert isinstance(grid, Grid)
    assert grid.shape == dense.shape
    assert grid.bounds() == (dense.min(), dense.max())


@settings(max_examples=200)
@given(st.integers(1, 40), st.integers(-50, 50), st.integers(-4, 4), st.integers(-60, 60))
def test_a_mask_of_one_dimension_is_the_box_of_what_holds(
    size: int, const: int, step: int, limit: int
) -> None:
    mask = const + step * arange(size)[:, None] < limit
    inside = np.flatnonzero(const + step * np.arange(size) < limit)
    box = box_of(mask, (size, 1))
    if not len(inside):
        assert box is None
    else:
        assert box == ((inside[0], inside[-1] + 1), (0, 1))
    assert isinstance(mask, (bool, Mask))


@pytest.mark.parametrize(
    "adding", ["nl.add(nl.copy(psum), column)", "nisa.tensor_tensor(psum, column, op=nl.add)"]
)
@pytest.mark.parametrize("column", ["nl.load(bias)", "nl.load(bias.reshape((128, 1)))"])
def test_fewer_free_dimensions_are_read_behind_the_partition(beta1: Run, adding: str, column: str) -> None:
    x, bias = made(128, 2, 16), made(128)
    found = beta1(
        f"""
        @nki.jit
        def kernel(x, bias):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            psum, column = nl.load(x), {column}
            nl.store(out, {adding})
            return out
        """,
        x, bias,
    )  # fmt: skip
    np.testing.assert_allclose(found.outputs[0], x + bias[:, None, None])


def test_a_size_may_be_a_quotient(beta1: Run) -> None:
    x = made(128, 4)
    found = beta1(
        """
        @nki.jit
        def kernel(x):
            out = nl.ndarray((128, 2, 2), dtype=x.dtype, buffer=nl.shared_hbm)
            nl.store(out, nl.load(x).reshape((128, 4 / 2, 2)))
            return out
        """,
        x,
    )
    np.testing.assert_array_equal(found.outputs[0], x.reshape(128, 2, 2))
