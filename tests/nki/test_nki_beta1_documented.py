"""What pages of Beta 1 say, and public kernels of AWS use: masked operands, empty masks, views, constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from beta1_kernel import Run, made


def test_operands_of_a_product_are_masked_apart(beta1: Run) -> None:
    """NKI API Masking, "operand masking": nl.matmul(lhs_T[i_lhs_f <= 64], rhs[i_rhs_f <= 256], …)."""
    a, b = made(128, 128), made(128, 512)
    found = beta1(
        """
        def kernel(a, b) -> (128, 512):
            i, j = nl.arange(128)[None, :], nl.arange(512)[None, :]
            psum = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
            psum += nl.matmul(nl.load(a)[i < 64], nl.load(b)[j < 256], transpose_x=True)
            nl.store(out, psum)
        """,
        a,
        b,
    )
    wanted = np.zeros((128, 512), np.float32)
    wanted[:64, :256] = (a.T @ b)[:64, :256]
    np.testing.assert_allclose(found.outputs[0], wanted, rtol=1e-5, atol=1e-4)


def test_a_masked_operand_may_leave_its_tensor(beta1: Run) -> None:
    """As blockwise_mm of nki-samples has it: weights[…, idx][idx < I_TP]."""
    a, b = made(128, 200), made(128, 512)
    found = beta1(
        """
        def kernel(a, b) -> (200, 512):
            i, j, left, right = nl.arange(128)[:, None], nl.arange(512)[None, :], nl.load(a), nl.load(b)
            for t in nl.affine_range(2):
                psum = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
                idx = nl.arange(128)[None, :] + 128 * t
                psum[i, j] += nisa.nc_matmul(left[i, idx][idx < 200], right[i, j][t < 2])
                nl.store(out[t * 128 + i, j], psum[i, j], mask=t * 128 + i < 200)
        """,
        a,
        b,
    )
    np.testing.assert_allclose(found.outputs[0], a.T @ b, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    "call",
    [
        "s[i, j] = nisa.affine_select(pred=(i >= j), on_true_tile=x_[i, j], on_false_value=-1.0, mask=m)",
        "s[i, j] = nisa.iota(i + j, dtype=nl.int32, mask=m)",
        "s[i, j] = nl.copy(nisa.nc_transpose(x_[i, j], mask=m), mask=m)",
        "nisa.tensor_partition_reduce(np.add, x_[i, j], mask=m)",
        "nisa.tensor_copy_predicated(dst=s[i, j], src=x_[i, j], predicate=p[i, j], mask=m)",
    ],
)
def test_a_mask_that_leaves_nothing_skips_the_instruction(beta1: Run, call: str) -> None:
    """NKI API Masking: "informs the compiler to skip generating the instruction"."""
    found = beta1(
        f"""
        def kernel(x) -> x.shape:
            i, j = nl.arange(128)[:, None], nl.arange(128)[None, :]
            x_, s = nl.load(x), nl.full((128, 128), 3.0, dtype=x.dtype)
            p = nl.full((128, 128), 1, dtype=nl.uint8)
            for t in nl.affine_range(1, 2):
                m = t * 128 + i < 128
                {call}
            nl.store(out, s)
        """,
        made(128, 128),
    )
    assert (found.outputs[0] == 3).all()


def test_a_view_has_as_many_bytes_of_another_type(beta1: Run) -> None:
    """nki.tensor.view: "reinterpret to a specified type"; rmsnorm_quant stores a scale as four bytes."""
    x = made(2, 128, 16)
    found = beta1(
        """
        def kernel(x) -> (2, 128, 4):
            tiles = nl.ndarray((2, nl.par_dim(128), 16), dtype=x.dtype, buffer=nl.sbuf)
            for t in range(2):
                tiles[t] = nl.load(x[t])
                bytes_ = tiles[t, 0:100, 3:4].view(nl.uint8)
                assert bytes_.shape == (100, 4)
                nl.store(out[t, 0:100, :], bytes_)
                nl.store(out[t, 100:128, :], tiles.view(nl.uint8)[t, 100:128, 12:16].view(nl.uint8))
        """,
        x,
    )
    wanted = np.ascontiguousarray(x[:, :, 3:4]).view(np.uint8)
    np.testing.assert_array_equal(found.outputs[0], wanted.astype(np.float32))


def test_an_identity_is_a_constant_in_hbm(beta1: Run) -> None:
    """nl.shared_identity_matrix: "has the same behavior to nki.language.shared_constant"."""
    x = made(128, 64)
    found = beta1(
        """
        def kernel(x) -> x.shape:
            eye = nl.load(nl.shared_identity_matrix(128, dtype=x.dtype))
            nl.store(out, nl.copy(nisa.nc_matmul(eye, nl.load(x))))
        """,
        x,
    )
    np.testing.assert_array_equal(found.outputs[0], x)


def test_a_loaded_number_has_a_row_and_a_column(beta1: Run) -> None:
    x = made(4, 128, 64)
    found = beta1(
        """
        def kernel(x, which) -> (128, 64):
            i, j = nl.mgrid[0:128, 0:64]
            expert = nl.load(which[0], dtype=nl.int32)
            nl.store(out, nl.load(x[expert[0, 0], i, j]))
        """,
        x,
        np.array([[2]], np.int32),
    )
    np.testing.assert_array_equal(found.outputs[0], x[2])


@pytest.mark.parametrize("mask", ["j < 4", "j >= 2", "i >= 64", "(i >= 64) & (j < 10)"])
def test_a_mask_moves_what_counts_rows_and_columns(beta1: Run, mask: str) -> None:
    """Of affine_select and iota it leaves a part, whose places stay the tile's."""
    x = made(128, 64)
    found = beta1(
        f"""
        def kernel(x) -> (2, 128, 64):
            i, j = nl.mgrid[0:128, 0:64]
            chosen, numbers = nl.full((128, 64), 3.0, dtype=x.dtype), nl.full((128, 64), 3, dtype=nl.int32)
            tile = nl.load(x)
            chosen[i, j] = nisa.affine_select(
                pred=(i - 64 >= j), on_true_tile=tile[i, j], on_false_value=-1.0, mask={mask})
            numbers[i, j] = nisa.iota(i * 64 + j, dtype=nl.int32, mask={mask})
            nl.store(out[0], chosen)
            nl.store(out[1], nl.copy(numbers, dtype=x.dtype))
        """,
        x,
    )
    i, j = np.ogrid[:128, :64]
    left = np.broadcast_to(eval(mask, {"i": i, "j": j}), (128, 64))
    wanted = np.stack([np.where(i - 64 >= j, x, -1), np.broadcast_to(i * 64 + j, (128, 64))])
    np.testing.assert_array_equal(found.outputs[0], np.where(left, wanted, 3).astype(np.float32))


@pytest.mark.parametrize(
    "call", ["nl.load_transpose2d(x, mask=j < 4)", "nisa.dma_transpose(nl.load(x), mask=j < 4)"]
)
def test_a_masked_transpose_leaves_the_rest(beta1: Run, call: str) -> None:
    x = made(128, 64)
    found = beta1(
        f"""
        def kernel(x) -> (64, 128):
            j, turned = nl.arange(64)[None, :], nl.full((64, 128), 3.0, dtype=x.dtype)
            turned[...] = {call}
            nl.store(out, turned)
        """,
        x,
    )
    wanted = np.full((64, 128), 3, np.float32)
    wanted[:4] = x.T[:4]
    np.testing.assert_array_equal(found.outputs[0], wanted)


def test_a_number_outside_is_kept_out_by_a_mask_of_loops(beta1: Run) -> None:
    """As a kernel that loads for the next round has it: x[t + 1, …], mask=t + 1 < n."""
    x = made(2, 128, 64)
    found = beta1(
        """
        def kernel(x) -> x.shape:
            i, j = nl.mgrid[0:128, 0:64]
            for t in nl.affine_range(2):
                tile = nl.zeros((128, 64), dtype=x.dtype)
                tile[i, j] = nl.load(x[t + 1, i, j], mask=t + 1 < 2)
                nl.store(out[t, i, j], tile[i, j])
        """,
        x,
    )
    np.testing.assert_array_equal(found.outputs[0], np.stack([x[1], 0 * x[1]]))


def test_a_mask_leaves_the_columns_that_range_select_counts(beta1: Run, v3: Any) -> None:
    x, low, high = made(128, 64), np.full((128, 1), 10, np.float32), np.full((128, 1), 20, np.float32)
    least = np.finfo(np.float32).min
    found = beta1(
        """
        def kernel(x, low, high) -> x.shape:
            i, j = nl.mgrid[0:128, 0:64]
            chosen = nl.full((128, 64), 3.0, dtype=x.dtype)
            chosen[i, j] = nisa.range_select(
                on_true_tile=nl.load(x)[i, j], comp_op0=np.greater_equal, comp_op1=np.less,
                bound0=nl.load(low), bound1=nl.load(high), on_false_value=np.finfo(np.float32).min,
                reduce_res=nl.zeros((128, 1), dtype=x.dtype), reduce_op=np.max,
                reduce_cmd=nisa.reduce_cmd.reset_reduce, mask=(j >= 8))
            nl.store(out, chosen)
        """,
        x, low, high, machine=v3,
    )  # fmt: skip
    j = np.arange(64)
    np.testing.assert_array_equal(
        found.outputs[0], np.where(j < 8, 3, np.where((j >= 10) & (j < 20), x, least)).astype(np.float32)
    )


def test_a_mask_leaves_the_rest_of_what_is_gathered(beta1: Run) -> None:
    x = made(128, 64)
    found = beta1(
        """
        def kernel(x) -> x.shape:
            i, j = nl.mgrid[0:128, 0:64]
            tile, gathered = nl.load(x), nl.full((128, 64), 3.0, dtype=x.dtype)
            none = nl.zeros((128, 64), dtype=nl.uint32)
            gathered[i, j] = nl.gather_flattened(tile[i, j], none[i, j], mask=(j < 4))
            nl.store(out, gathered)
        """,
        x,
    )
    np.testing.assert_array_equal(found.outputs[0], np.where(np.arange(64) < 4, x[:, :1], 3))
