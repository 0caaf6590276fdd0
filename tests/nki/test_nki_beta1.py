"""Kernels of Beta 1: return values, index arrays, blocks, masks, grids; each against NumPy."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.errors import KernelError
from trnbench.nki import TensorSpec, Trace, load_kernel, record
from trnbench.nki.beta1.index import Grid, arange
from trnbench.nki.beta1.mask import Mask, box_of
from trnbench.nki.beta1.spread import nc, spmd_dim

HEAD = """
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
"""
RNG = np.random.default_rng(1)

Run = Callable[..., Trace]


@pytest.fixture
def run(tmp_path: Path, v2: Any) -> Run:
    """Records a kernel given as text, with values unless told otherwise."""

    def recorded(body: str, *args: Any, grid: Any = None, machine: Any = v2, **options: Any) -> Trace:
        file = tmp_path / "old.py"
        file.write_text(HEAD + textwrap.dedent(body))
        kernel, _, provided = load_kernel(f"{file}::kernel", nki="trnbench")
        assert str(provided).startswith("trnbench ")
        assert str(provided).endswith(" (Beta 1)")
        if grid is not None:
            kernel = kernel[grid]
        return record(kernel, args, machine=machine, **{"functional": True, "keep": True, **options})

    return recorded


def made(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def opcodes(trace: Trace) -> list[str]:
    return [each.op.opcode for each in trace.instructions]


def test_a_result_goes_straight_to_the_tile_it_is_assigned_to(run: Run) -> None:
    x = made(128, 64)
    found = run(
        """
        @nki.jit
        def kernel(x):
            out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
            tile = nl.ndarray((nl.par_dim(128), 64), dtype=nl.float32, buffer=nl.sbuf)
            tile[...] = nl.load(x)
            tile[:, 0:32] = nl.exp(tile[:, 0:32])
            nl.store(out, tile)
            return out
        """,
        x,
    )
    assert opcodes(found) == ["dma_copy", "activation", "dma_copy"]
    wanted = x.copy()
    wanted[:, :32] = np.exp(x[:, :32])
    assert np.allclose(found.outputs[0], wanted, rtol=1e-6)


def test_a_result_that_has_a_name_is_copied(run: Run) -> None:
    x = made(128, 64)
    found = run(
        """
        @nki.jit
        def kernel(x):
            out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
            tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
            named = nl.load(x)
            tile[...] = named
            nl.store(out, tile + named)
            return out
        """,
        x,
    )
    assert opcodes(found) == ["dma_copy", "tensor_copy", "tensor_tensor", "dma_copy"]
    assert np.array_equal(found.outputs[0], x + x)


def test_products_add_up_in_psum(run: Run) -> None:
    a, b = made(256, 128), made(256, 512)
    found = run(
        """
        @nki.jit
        def kernel(a, b):
            out = nl.ndarray((128, 512), nl.float32, buffer=nl.shared_hbm)
            psum = nl.zeros((nl.par_dim(128), 512), nl.float32, buffer=nl.psum)
            i_k, i_m = nl.mgrid[0:128, 0:128]
            i_n = nl.arange(512)[None, :]
            for k in nl.affine_range(2):
                left = nl.load(a[k * 128 + i_k, i_m])
                right = nl.load(b[k * 128 + i_k, i_n])
                psum[...] += nisa.nc_matmul(left, right)
            nl.store(out, nl.copy(psum))
            return out
        """,
        a,
        b,
    )
    assert opcodes(found).count("nc_matmul") == 2
    assert "tensor_tensor" not in opcodes(found)
    assert "memset" not in opcodes(found)  # the first product overwrites
    assert np.allclose(found.outputs[0], a.T @ b, atol=1e-3)


def test_dimensions_before_the_partition_are_blocks_of_their_own(run: Run) -> None:
    x = made(256, 32)
    found = run(
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
def test_masks_keep_the_last_tile_inside(run: Run, rows: int) -> None:
    x = made(rows, 70)
    found = run(
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


def test_an_index_without_a_mask_must_stay_inside(run: Run) -> None:
    with pytest.raises(KernelError) as caught:
        run(
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
    assert caught.value.try_ == "keep the index inside with mask="


def test_a_grid_runs_its_programs_in_turn(run: Run) -> None:
    x = made(256, 96)
    found = run(
        """
        @nki.jit
        def kernel(x):
            out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
            row, column = nl.program_id(0), nl.program_id(1)
            part = slice(row * 128, (row + 1) * 128), nl.ds(column * 32, 32)
            tile = nl.load(x[part])
            nl.store(out[part], tile * float(nl.num_programs(0) * 10 + nl.num_programs(1)))
            return out
        """,
        x,
        grid=(2, 3),
    )
    assert found.outputs[0].shape == (256, 96)
    assert np.allclose(found.outputs[0], x * 23)
    assert found.count == 6 * 3


NUMBERED = """
@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    number = nl.program_id(0) * 2 + nl.program_id(1)
    tile = nl.load(x[number * 32:number * 32 + 32])
    nl.store(out[number * 32:number * 32 + 32], tile)
    return out
"""
BY_HALVES, BY_TURNS = [[0, 1, 2, 3], [4, 5, 6, 7]], [[0, 1, 4, 5], [2, 3, 6, 7]]


@pytest.mark.parametrize(
    ("grid", "of_core"),
    [
        ((4, 2), [[0, 1, 2, 3, 4, 5, 6, 7]]),
        ((spmd_dim(nc(2), 2), 2), BY_HALVES),
        ((spmd_dim(2, nc(2)), 2), BY_TURNS),
        ((4, nc(2)), [[0, 2, 4, 6], [1, 3, 5, 7]]),
        ((nc(4), 2), [[0, 1], [2, 3], [4, 5], [6, 7]]),
        ((nc(2), nc(2)), [[0], [1], [2], [3]]),
        ((spmd_dim(4), spmd_dim(2)), [[0, 1, 2, 3, 4, 5, 6, 7]]),
    ],
)
def test_programs_are_dealt_to_cores_as_the_grid_says(run: Run, grid: Any, of_core: list[list[int]]) -> None:
    x = made(256, 16)
    for core, expected in enumerate(of_core):
        found = run(NUMBERED, x, grid=grid, functional=False, program=core)
        loads = [each for each in found.instructions if each.op.variables["src"] == "hbm"]
        assert [each.reads[0].offset // (32 * 16) for each in loads] == expected
    whole = run(NUMBERED, x, grid=grid)
    if len(grid) == 2 and int(grid[0]) * int(grid[1]) == 8:
        assert np.array_equal(whole.outputs[0], x)


@pytest.mark.parametrize(
    ("sizes", "what"),
    [
        ((), "nl.spmd_dim(): it has no size"),
        ((nc(2), nc(2)), "nl.spmd_dim(2, 2): two of its parts are cores"),
        ((0,), "nl.spmd_dim(0): it takes a number of at least 1"),
        (("x",), "nl.spmd_dim('x'): it takes a number of at least 1"),
    ],
)
def test_a_dimension_that_cannot_be_dealt_is_told(sizes: Any, what: str) -> None:
    with pytest.raises(KernelError) as caught:
        spmd_dim(*sizes)
    assert re.sub(r" \([^()]*\)$", "", caught.value.what) == what


def test_kernels_that_write_to_what_they_are_given(run: Run) -> None:
    x = made(128, 8)
    found = run(
        """
        @nki.baremetal
        def kernel(x, out):
            nl.store(out, -nl.load(x))
        """,
        x,
        np.zeros_like(x),
    )
    assert np.array_equal(found.outputs[0], -x)


def test_instructions_have_the_line_of_their_call(run: Run) -> None:
    found = run(
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


def test_reductions_over_loops(run: Run) -> None:
    x = made(128, 4, 16)
    found = run(
        """
        @nki.jit
        def kernel(x):
            out = nl.ndarray((128, 1), x.dtype, buffer=nl.shared_hbm)
            i_p = nl.arange(128)[:, None]
            top = nl.ndarray((nl.par_dim(128), 1), x.dtype, buffer=nl.sbuf)
            for n in nl.affine_range(4):
                part = nisa.tensor_reduce(np.max, nl.load(x[i_p, n, nl.arange(16)[None, :]]), axis=[1])
                top[i_p, 0] = nl.loop_reduce(part, op=np.max, loop_indices=[n])
            nl.store(out, top)
            return out
        """,
        x,
    )
    assert np.array_equal(found.outputs[0][:, 0], x.max((1, 2)))


def test_a_column_of_a_tile_is_a_tile(run: Run) -> None:
    x = made(128, 8)
    found = run(
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


def test_causal_selection(run: Run) -> None:
    x = made(128, 128)
    found = run(
        """
        @nki.jit
        def kernel(x):
            out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
            i_p, i_f = nl.arange(128)[:, None], nl.arange(128)[None, :]
            chosen = nisa.affine_select(pred=i_p >= i_f, on_true_tile=nl.load(x), on_false_value=-9.0)
            nl.store(out, chosen)
            return out
        """,
        x,
    )
    assert np.array_equal(found.outputs[0], np.where(np.tri(128) > 0, x, -9.0).astype(np.float32))


BROADCAST = """
@nki.jit
def kernel(x, row):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    tile, other = nl.load(x), nl.load(row)
    scaled = tile * nl.max(tile, axis=[1]) + other.broadcast_to((128, x.shape[1]))
    nl.store(out, value=scaled - 0.5)
    return out
"""


def test_columns_and_rows_are_broadcast(run: Run) -> None:
    x, row = made(128, 600), made(1, 600)
    found = run(BROADCAST, x, row)
    wanted = x * x.max(1, keepdims=True) + row - 0.5
    assert np.allclose(found.outputs[0], wanted, rtol=1e-5, atol=1e-5)
    assert "nc_stream_shuffle" not in opcodes(found)  # a product with ones, as floats go


def test_shapes_alone_issue_the_same_instructions(run: Run) -> None:
    values = run(BROADCAST, made(128, 600), made(1, 600))
    shapes = run(
        BROADCAST, TensorSpec((128, 600), "float32"), TensorSpec((1, 600), "float32"), functional=False
    )
    assert [repr(each.op) for each in shapes.instructions] == [repr(each.op) for each in values.instructions]


def test_products_with_the_engine_left_open_go_to_scalar(run: Run) -> None:
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
    found = run(body, x)
    assert [each.op.engine for each in found.instructions[1:4]] == ["scalar", "vector", "vector"]
    assert np.allclose(found.outputs[0], 5 * x + 2, atol=1e-6)


def test_what_is_not_emulated_is_named(run: Run) -> None:
    for body, what in (
        ("nl.atomic_rmw(x)", "neuronxcc.nki.language has no 'atomic_rmw' (old.py:9)"),
        ("x[0:4, 0:4] = 1.0", "assignment to float32[4, 4]@hbm in HBM (old.py:9)"),
        (
            "nl.load(x, mask=nl.arange(128)[:, None] >= nl.arange(16)[None, :])",
            "a mask joins 2 dimensions of a tile (old.py:9)",
        ),
        (
            "nl.load(x[nl.arange(16)[None, :] % 3, 0])",
            "an index is not a sum of multiples after % 3 (old.py:9)",
        ),
        ("nki.simulate_kernel(kernel, x)", "nki.simulate_kernel was called (old.py:9)"),
    ):
        with pytest.raises(KernelError) as caught:
            run(f"\n@nki.jit\ndef kernel(x):\n    {body}\n    return x\n", made(128, 16))
        assert caught.value.what == what


# Indices ------------------------------------------------------------------------------------------

SIZES = st.integers(1, 6)


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


OVERWRITTEN = """
@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(x.shape[0] // 128):
        {load}
        nl.store(out[nl.ds(i * 128, 128), :], nl.add(tile, 1.0))
    return out
"""


@pytest.mark.parametrize(
    ("load", "places"),
    [
        ("nisa.dma_copy(src=x[nl.ds(i * 128, 128), :], dst=tile)", 3),
        ("tile[:, :] = nl.load(x[nl.ds(i * 128, 128), :])", 3),
        # In parts each keeps what the other brought: one place.
        ("tile[:, 0:32] = nl.load(x[nl.ds(i * 128, 128), 0:32]);"
         " tile[:, 32:64] = nl.load(x[nl.ds(i * 128, 128), 32:64])", 1),
    ],
)  # fmt: skip
def test_what_a_load_overwrites_wholly_need_not_wait_for_its_readers(
    run: Run, load: str, places: int
) -> None:
    x = made(384, 64)
    found = run(OVERWRITTEN.format(load=load), x)
    np.testing.assert_array_equal(found.outputs[0], x + 1)
    loads = [each for each in found.instructions if each.reads and each.reads[0].buffer.value.endswith("hbm")]
    written = {id(view.storage) for each in loads for view in each.writes}
    assert len(written) == places


def test_what_the_tensor_engine_cannot_read_is_copied_for_it(run: Run) -> None:
    a, b = made(64, 128), made(128, 256)
    found = run(
        """
        @nki.jit
        def kernel(a, b):
            out = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.shared_hbm)
            turned = nisa.nc_transpose(nl.load(a))
            nl.store(out, nl.copy(nisa.nc_matmul(turned, nl.load(b))))
            return out
        """,
        a, b,
    )  # fmt: skip
    np.testing.assert_allclose(found.outputs[0], a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "adding", ["nl.add(nl.copy(psum), column)", "nisa.tensor_tensor(psum, column, op=nl.add)"]
)
@pytest.mark.parametrize("column", ["nl.load(bias)", "nl.load(bias.reshape((128, 1)))"])
def test_fewer_free_dimensions_are_read_behind_the_partition(run: Run, adding: str, column: str) -> None:
    x, bias = made(128, 2, 16), made(128)
    found = run(
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


def test_a_failure_is_told_with_the_line_of_the_kernel(run: Run) -> None:
    with pytest.raises(KernelError) as caught:
        run(
            """
            @nki.jit
            def kernel(x):
                assert x.shape[0] == 1, "one row only"
            """,
            made(4, 4),
        )
    assert caught.value.what == "kernel 'kernel' failed: AssertionError: one row only (old.py:9)"


def test_a_size_may_be_a_quotient(run: Run) -> None:
    x = made(128, 4)
    found = run(
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
