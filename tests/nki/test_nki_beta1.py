"""Kernels of Beta 1: return values, assignment, instructions; each against NumPy."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beta1_kernel import Run, made, opcodes
from messages import messages

from trnbench.errors import KernelError
from trnbench_emulator.nki import TensorSpec

BROADCAST = """
def kernel(x, row) -> x.shape:
    tile, other = nl.load(x), nl.load(row)
    scaled = tile * nl.max(tile, axis=[1]) + other.broadcast_to((128, x.shape[1]))
    nl.store(out, value=scaled - 0.5)
"""


OVERWRITTEN = """
def kernel(x) -> x.shape:
    tile = nl.ndarray((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(x.shape[0] // 128):
        {load}
        nl.store(out[nl.ds(i * 128, 128), :], nl.add(tile, 1.0))
"""


def _equal_or_not(x: Any) -> Any:
    rows, columns = np.ogrid[:128, :64]
    low = (rows == 127) & (columns != 0)
    return np.where(
        low,
        np.where(x == 0, 1, x),
        np.where((columns == 10) & (rows != 127), x, np.where(rows == columns, x, -9)),
    )


def _chosen_by_indices(x: Any) -> Any:
    rows, columns = np.arange(128)[:, None], np.arange(64)
    return np.stack(
        [
            np.where(20 + rows >= 40 + columns, x, -9984),
            np.where((rows < 100) & (columns > rows), x, -1),
            np.where(rows == columns, 0, x),
            np.where(columns < 10, x + 1, x),
        ]
    )


def _rows_written(x: Any) -> Any:
    turned = np.zeros((64, 128), np.float32)
    turned[:3], turned[5:8] = x.T[:3], x[:, 0] + np.float32(1)
    turned[9], turned[10, :64] = x[0, 0], x[1]
    turned[20:60] = turned[:40].copy()
    return turned.T


def _picked_sums(x: Any, rows: Any) -> Any:
    total = np.zeros((64, 16), np.float32)
    np.add.at(total, rows[:, 0], x + 1)
    return total


KERNELS = tomllib.loads(Path(__file__).with_name("beta1_kernels.toml").read_text(encoding="utf-8"))
EXACT: list[tuple[str, tuple[Any, ...], Callable[..., Any]]] = [
    ("writes to what it is given", (made(128, 8), np.zeros((128, 8), np.float32)), lambda x, out: -x),
    ("reduces over a loop", (made(128, 4, 16),), lambda x: x.max((1, 2))[:, None]),
    (
        "reduces into a name or a tile",
        (made(128, 4, 16).round(),),
        lambda x: np.stack([100 + x.sum(1)] * 2),
    ),
    (
        "transposes of transposes",
        (made(128, 128),),
        lambda x: np.stack([x, x, np.broadcast_to(x[:, 0], x.shape)]),
    ),
    (
        "adds to rows that indices pick",
        (
            np.arange(2048).reshape(128, 16).astype(np.float32),
            np.arange(128, dtype=np.int32)[:, None] // 4 * 2,
        ),
        _picked_sums,
    ),
    ("writes any row", (made(128, 64),), _rows_written),
    (
        "broadcasts any row",
        (made(128, 64),),
        lambda x: np.stack([np.broadcast_to(x[5], x.shape), x * x[70]]),
    ),
    ("selects causally", (made(128, 128),), lambda x: np.where(np.tri(128) > 0, x, -9.0)),
    ("a column is a tile", (made(128, 8),), lambda x: x.max(1)[:, None]),
    ("a size is a quotient", (made(128, 4),), lambda x: x.reshape(128, 2, 2)),
    *(("masks keep the last tile inside", (made(n, 70),), lambda x: 2 * x) for n in (100, 128, 200, 256)),
    (
        "a number read at run time picks a part",
        (made(5, 16, 8), np.array([[4, 0, 2]], np.int32)),
        lambda x, chosen: x[chosen[0]],
    ),
    ("a mask or a truth value", (made(128, 64),), lambda x: x),
    (
        "a mask leaves the rest of a tile",
        (made(128, 64),),
        lambda x: np.where(
            np.arange(64) < 4,
            np.where(x > 1, x, 5),
            np.where(np.arange(64) < 10, np.where(x > 0, x, 0), 7),
        ),
    ),
    ("equal, or not", (made(128, 64).round(),), _equal_or_not),
    ("a comparison of indices chooses", (made(128, 64),), _chosen_by_indices),
    (
        "moments of some columns",
        (made(128, 64).round(),),
        lambda x: np.stack([x[:, :32].mean(1), x[:, :32].var(1)], axis=1),
    ),
]


@pytest.mark.parametrize(("name", "given", "wanted"), EXACT)
def test_values_are_numpys_to_the_last_bit(
    beta1: Run, name: str, given: tuple[Any, ...], wanted: Callable[..., Any]
) -> None:
    np.testing.assert_array_equal(beta1(KERNELS[name], *given).outputs[0], wanted(*given))


def test_a_result_goes_straight_to_the_tile_it_is_assigned_to(beta1: Run) -> None:
    x = made(128, 64)
    found = beta1(
        """
        def kernel(x) -> x.shape:
            tile = nl.ndarray((nl.par_dim(128), 64), dtype=nl.float32, buffer=nl.sbuf)
            tile[...] = nl.load(x)
            tile[:, 0:32] = nl.exp(tile[:, 0:32])
            nl.store(out, tile)
        """,
        x,
    )
    assert opcodes(found) == ["dma_copy", "activation", "dma_copy"]
    wanted = x.copy()
    wanted[:, :32] = np.exp(x[:, :32])
    assert np.allclose(found.outputs[0], wanted, rtol=1e-6)


def test_a_result_that_has_a_name_is_copied(beta1: Run) -> None:
    x = made(128, 64)
    found = beta1(
        """
        def kernel(x) -> x.shape:
            tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
            named = nl.load(x)
            tile[...] = named
            nl.store(out, tile + named)
        """,
        x,
    )
    assert opcodes(found) == ["dma_copy", "tensor_copy", "tensor_tensor", "dma_copy"]
    assert np.array_equal(found.outputs[0], x + x)


@pytest.mark.parametrize(
    "line",
    [
        "psum[...] += nisa.nc_matmul(left, right)",
        "psum[...] = psum + nisa.nc_matmul(left, right)",
        "psum[...] = nl.add(nl.matmul(left, right, transpose_x=True), psum)",
    ],
)
def test_products_add_up_in_psum(beta1: Run, line: str) -> None:
    a, b = made(256, 128), made(256, 512)
    found = beta1(
        f"""
        def kernel(a, b) -> (128, 512):
            psum = nl.zeros((nl.par_dim(128), 512), nl.float32, buffer=nl.psum)
            i_k, i_m = nl.mgrid[0:128, 0:128]
            i_n = nl.arange(512)[None, :]
            for k in nl.affine_range(2):
                left = nl.load(a[k * 128 + i_k, i_m])
                right = nl.load(b[k * 128 + i_k, i_n])
                {line}
            nl.store(out, nl.copy(psum))
        """,
        a,
        b,
    )
    assert opcodes(found).count("nc_matmul") == 2
    assert "tensor_tensor" not in opcodes(found)
    assert "memset" not in opcodes(found)  # the first product overwrites
    assert np.allclose(found.outputs[0], a.T @ b, atol=1e-3)


def test_instructions_have_the_line_of_their_call(beta1: Run) -> None:
    found = beta1(
        """
        @nki.jit
        def kernel(x):
            tile = nl.load(x)

            grown = nl.exp(tile)

            nl.store(x, grown)
        """,
        made(128, 8),
    )
    assert [each.line for each in found.instructions] == [9, 11, 13]


def test_columns_and_rows_are_broadcast(beta1: Run) -> None:
    x, row = made(128, 600), made(1, 600)
    found = beta1(BROADCAST, x, row)
    wanted = x * x.max(1, keepdims=True) + row - 0.5
    assert np.allclose(found.outputs[0], wanted, rtol=1e-5, atol=1e-5)
    assert "nc_stream_shuffle" not in opcodes(found)  # a product with ones, as floats go


def test_shapes_alone_issue_the_same_instructions(beta1: Run) -> None:
    values = beta1(BROADCAST, made(128, 600), made(1, 600))
    shapes = beta1(
        BROADCAST, TensorSpec((128, 600), "float32"), TensorSpec((1, 600), "float32"), functional=False
    )
    assert [repr(each.op) for each in shapes.instructions] == [repr(each.op) for each in values.instructions]


def test_products_with_the_engine_left_open_go_to_scalar(beta1: Run) -> None:
    body = """
        @nki.jit
        def kernel(x):
            tile = nl.load(x)
            a = nisa.tensor_scalar(tile, nl.multiply, 2.0)
            b = nisa.tensor_scalar(tile, nl.multiply, 2.0, engine=nisa.vector_engine)
            c = nisa.tensor_scalar(tile, nl.add, 2.0)
            nl.store(x, a + b + c)
        """
    x = made(128, 16)
    found = beta1(body, x)
    assert [each.op.engine for each in found.instructions[1:4]] == ["scalar", "vector", "vector"]
    assert np.allclose(found.outputs[0], 5 * x + 2, atol=1e-6)


@pytest.mark.parametrize(
    ("load", "places"),
    [
        ("nisa.dma_copy(src=x[nl.ds(i * 128, 128), :], dst=tile)", 3),
        ("tile[:, :] = nl.load(x[nl.ds(i * 128, 128), :])", 3),
        # A mask that lets everything through leaves nothing out.
        ("nisa.dma_copy(src=x[nl.ds(i * 128, 128), :], dst=tile,"
         " mask=(i * 128 + nl.arange(128)[:, None] < 384))", 3),
        # In parts each keeps what the other brought: one place.
        ("tile[:, 0:32] = nl.load(x[nl.ds(i * 128, 128), 0:32]);"
         " tile[:, 32:64] = nl.load(x[nl.ds(i * 128, 128), 32:64])", 1),
    ],
)  # fmt: skip
def test_what_a_load_overwrites_wholly_need_not_wait_for_its_readers(
    beta1: Run, load: str, places: int
) -> None:
    x = made(384, 64)
    found = beta1(OVERWRITTEN.format(load=load), x)
    np.testing.assert_array_equal(found.outputs[0], x + 1)
    loads = [each for each in found.instructions if each.reads and each.reads[0].buffer.value.endswith("hbm")]
    written = {id(view.storage) for each in loads for view in each.writes}
    assert len(written) == places


def test_what_the_tensor_engine_cannot_read_is_copied_for_it(beta1: Run) -> None:
    a, b = made(64, 128), made(128, 256)
    found = beta1(
        """
        def kernel(a, b) -> (64, 256):
            turned = nisa.nc_transpose(nl.load(a))
            nl.store(out, nl.copy(nisa.nc_matmul(turned, nl.load(b))))
        """,
        a, b,
    )  # fmt: skip
    np.testing.assert_allclose(found.outputs[0], a @ b, rtol=1e-4, atol=1e-4)


def test_a_condition_without_partitions_is_of_the_last_dimension(beta1: Run) -> None:
    source = """
@nki.jit
def kernel(x):
    out = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.zeros((128, 128), dtype=x.dtype))
    nl.store(out, value=nl.load(x), mask=nl.arange(128) < 100)
    return out
"""
    x = made(128, 128)
    (got,) = beta1(source, x).outputs
    np.testing.assert_array_equal(got, np.where(np.arange(128) < 100, x, 0))


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("nl.softmax(a, axis=1, mask=m)", lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
        ("nl.rms_norm(a, a, axis=1, n=64, mask=m)",
         lambda x: x * x / np.sqrt(np.square(x).mean(1, keepdims=True) + 1e-6)),
        ("nl.where(a > 0, a, -1.0, mask=m)", lambda x: np.where(x > 0, x, -1)),
        ("nl.dropout(a, rate=0.0, mask=m)", lambda x: x),
        ("nl.subtract(a, nl.mean(a, axis=1, keepdims=True, mask=m), mask=m)",
         lambda x: x - x.mean(1, keepdims=True)),
        ("nl.subtract(a, nl.var(a, axis=1, mask=m), mask=m)", lambda x: x - x.var(1, keepdims=True)),
        ("nl.subtract(a, nl.all(a, axis=1, mask=m), mask=m)", lambda x: x - 1),
    ],
)  # fmt: skip
def test_a_masked_result_is_as_large_as_the_tile(beta1: Run, call: str, wanted: Callable[..., Any]) -> None:
    x = made(200, 64)
    found = beta1(
        f"""
        def kernel(x) -> x.shape:
            i, j = nl.arange(128)[:, None], nl.arange(64)[None, :]
            for t in nl.affine_range(3):
                m = t * 128 + i < 200
                a = nl.load(x[t * 128 + i, j], mask=m)
                r = {call}
                nl.store(out[t * 128 + i, j], r, mask=m)
        """,
        x,
    )
    np.testing.assert_allclose(found.outputs[0], wanted(x), rtol=1e-4, atol=1e-5)


def test_a_mask_of_columns_is_the_moving_operands(beta1: Run) -> None:
    x, w = made(128, 128), made(128, 700)
    found = beta1(
        """
        def kernel(x, w) -> (128, 700):
            i, j = nl.arange(128)[:, None], nl.arange(512)[None, :]
            for t in nl.affine_range(2):
                m = -512 * t + -1 * j + 699 >= 0
                right = nl.load(w[i, 512 * t + j], mask=m)
                sums = nl.zeros((128, 512), nl.float32, buffer=nl.psum)
                sums[i, j] += nisa.nc_matmul(nl.load(x), right[i, j], mask=m)
                nl.store(out[i, 512 * t + j], nl.copy(sums[i, j], mask=m), mask=m)
        """,
        x, w,
    )  # fmt: skip
    np.testing.assert_allclose(found.outputs[0], x.T @ w, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(("line", "message", "_"), messages(Path(__file__).with_name("beta1_refusals.txt")))
def test_what_is_refused_is_told_with_the_line_of_the_kernel(
    beta1: Run, line: str, message: str, _: int
) -> None:
    with pytest.raises(KernelError) as caught:
        beta1(f"\n@nki.jit\ndef kernel(x):\n    {line}\n    return x\n", made(128, 16))
    assert str(caught.value) == message
