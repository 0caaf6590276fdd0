"""Indices of Beta 1: blocks, masks, what leaves a tensor; each against NumPy."""

from __future__ import annotations

import operator
import re
from typing import Any

import msgspec
import numpy as np
import pytest
from beta1_kernel import Run, made
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.errors import KernelError
from trnbench_emulator.nki.beta1.grid import nc, spmd_dim
from trnbench_emulator.nki.beta1.index import Grid, Mask, arange, box_of
from trnbench_emulator.nki.beta1.root import Root
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.beta1.view import _PLANS
from trnbench_emulator.nki.dtype import DTYPES
from trnbench_emulator.nki.memory import Buffer

# Indices ------------------------------------------------------------------------------------------
SIZES = st.integers(1, 6)


def test_dimensions_before_the_partition_are_blocks_of_their_own(beta1: Run) -> None:
    x = made(256, 32)
    found = beta1(
        """
        def kernel(x) -> (256, 32):
            tiles = nl.ndarray((2, nl.par_dim(128), 32), dtype=x.dtype, buffer=nl.sbuf)
            i_p, i_f = nl.arange(128)[:, None], nl.arange(32)[None, :]
            for n in nl.affine_range(2):
                tiles[n, i_p, i_f] = nl.load(x[n * 128 + i_p, i_f])
            for n in nl.affine_range(2):
                nl.store(out[n * 128 + i_p, i_f], value=tiles[1 - n, i_p, i_f])
        """,
        x,
    )
    assert np.array_equal(found.outputs[0], np.roll(x, 128, axis=0))
    storages = {view.storage for each in found.instructions for view in each.writes if view.form.on_chip}
    assert len(storages) == 2


def test_numbers_of_loops_and_programs_are_indices_as_well(beta1: Run) -> None:
    x = made(8, 16)
    found = beta1(
        """
        def kernel(x) -> (8, 16):
            tile = nl.load(x)
            for number in nl.sequential_range(3):
                tile[...] = tile + nisa.iota(number, dtype=nl.int32).broadcast_to(tile.shape)
            program = nisa.iota(nl.program_id(0), dtype=nl.int32).reshape((1, 1))
            nl.store(out, tile + program.broadcast_to((8, 16)))
        """,
        x,
        grid=(1,),
    )
    np.testing.assert_allclose(found.outputs[0], x + 3, rtol=1e-6)


@given(SIZES, SIZES, st.integers(-5, 5), st.integers(-3, 3), st.integers(-3, 3))
def test_an_index_is_what_numpy_makes_of_it(rows: int, columns: int, const: int, a: int, b: int) -> None:
    grid = a * arange(rows)[:, None] + const + arange(columns)[None, :] * b
    dense = a * np.arange(rows)[:, None] + const + np.arange(columns)[None, :] * b
    assert isinstance(grid, Grid)
    assert grid.shape == dense.shape
    assert grid.bounds() == (dense.min(), dense.max())


@given(st.lists(st.tuples(SIZES, SIZES, SIZES), min_size=1, max_size=3), st.sampled_from(Buffer))
def test_a_step_of_one_changes_no_slice(sides: list[tuple[int, int, int]], buffer: Buffer) -> None:
    before, sizes, behind = zip(*sides, strict=True)
    shape = tuple(map(sum, sides))
    axis = 0 if buffer in (Buffer.SBUF, Buffer.PSUM) else -1
    tile = Tile.of(Root(shape, axis, DTYPES["float32"], buffer))
    plain = tuple(slice(start, start + size) for start, size in zip(before, sizes, strict=True))
    stepped = tuple(slice(part.start, part.stop, 1) for part in plain)
    from_the_end = tuple(
        slice(-size - after, whole - after) for size, after, whole in zip(sizes, behind, shape, strict=True)
    )
    views = [tile[plain], tile[stepped], tile[from_the_end]]
    assert views[0].shape[: len(sizes)] == sizes
    assert views[0].offset == sum(map(operator.mul, before, tile.strides))
    for view in views[1:]:
        assert msgspec.structs.astuple(view)[1:] == msgspec.structs.astuple(views[0])[1:]


@given(
    st.sampled_from([(Buffer.SBUF, 0), (Buffer.SBUF, 1), (Buffer.SBUF, 2), (Buffer.HBM, -1)]),
    st.lists(
        st.tuples(st.sampled_from("nws"), st.integers(-2, 5), st.integers(1, 2)), min_size=1, max_size=3
    ),
    st.lists(st.integers(-2, 5), min_size=3, max_size=3),
)
def test_a_layout_that_is_known_is_the_same_for_other_constants(
    where: tuple[Buffer, int], chosen: list[tuple[str, int, int]], others: list[int]
) -> None:
    """Numbers, whole dimensions and counters; inside the tile and out of it."""
    buffer, axis = where
    tile = Tile.of(Root((4, 5, 6), axis, DTYPES["float32"], buffer))
    counting = [at for at, (kind, _, _) in enumerate(chosen) if kind == "s"]

    def index(constants: list[int]) -> tuple[Any, ...]:
        entries: list[Any] = []
        for at, ((kind, _, step), constant) in enumerate(zip(chosen, constants, strict=False)):
            new = tuple(slice(None) if at == each else None for each in counting)
            entries.append(
                constant if kind == "n" else slice(None) if kind == "w" else constant + step * arange(2)[new]
            )
        return tuple(entries)

    def found(constants: list[int]) -> str:
        try:
            part = tile[index(constants)]
        except KernelError as error:
            return error.what
        return str((part.shape, part.strides, part.kinds, part.block, part.offset, part.over))

    _PLANS.clear()
    first = [constant for _, constant, _ in chosen]
    alone = found(others)
    _PLANS.clear()
    found(first)
    assert found(others) == alone


@settings(max_examples=200)
@given(
    st.sampled_from((operator.lt, operator.eq)),
    st.integers(1, 40), st.integers(-50, 50), st.integers(-4, 4), st.integers(-60, 60),
)  # fmt: skip
def test_a_mask_of_one_dimension_is_the_box_of_what_holds(
    compare: Any, size: int, const: int, step: int, limit: int
) -> None:
    mask = compare(const + step * arange(size)[:, None], limit)
    inside = np.flatnonzero(compare(const + step * np.arange(size), limit))
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
        def kernel(x, bias) -> x.shape:
            psum, column = nl.load(x), {column}
            nl.store(out, {adding})
        """,
        x, bias,
    )  # fmt: skip
    np.testing.assert_allclose(found.outputs[0], x + bias[:, None, None])


# Grids of Beta 1: programs in turn, or dealt to cores as nl.nc and nl.spmd_dim say -------------------

NUMBERED = """
def kernel(x) -> x.shape:
    number = nl.program_id(0) * 2 + nl.program_id(1)
    tile = nl.load(x[number * 32:number * 32 + 32])
    nl.store(out[number * 32:number * 32 + 32], tile)
"""


BY_HALVES, BY_TURNS = [[0, 1, 2, 3], [4, 5, 6, 7]], [[0, 1, 4, 5], [2, 3, 6, 7]]


def test_a_grid_runs_its_programs_in_turn(beta1: Run) -> None:
    x = made(256, 96)
    found = beta1(
        """
        def kernel(x) -> x.shape:
            row, column = nl.program_id(0), nl.program_id(1)
            part = slice(row * 128, (row + 1) * 128), nl.ds(column * 32, 32)
            tile = nl.load(x[part])
            nl.store(out[part], tile * float(nl.num_programs(0) * 10 + nl.num_programs(1)))
        """,
        x,
        grid=(2, 3),
    )
    assert found.outputs[0].shape == (256, 96)
    assert np.allclose(found.outputs[0], x * 23)
    assert found.count == 6 * 3


@pytest.mark.parametrize(
    ("out", "count"), [("nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)", 3), ("x", 9)]
)
def test_programs_that_never_ask_for_their_number_are_one(beta1: Run, out: str, count: int) -> None:
    """But where they write to what they are given: each may read what the one before has left."""
    found = beta1(
        f"""
        @nki.jit
        def kernel(x):
            out = {out}
            tile = nl.load(x)
            nl.store(out, tile * 2.0)
            return out
        """,
        made(128, 32),
        grid=(3,),
    )
    assert found.count == count


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
def test_programs_are_dealt_to_cores_as_the_grid_says(beta1: Run, grid: Any, of_core: Any) -> None:
    x = made(256, 16)
    for core, expected in enumerate(of_core):
        found = beta1(NUMBERED, x, grid=grid, functional=False, program=core)
        loads = [each for each in found.instructions if each.op.variables["src"] == "hbm"]
        assert [each.reads[0].offset // (32 * 16) for each in loads] == expected
    whole = beta1(NUMBERED, x, grid=grid)
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
