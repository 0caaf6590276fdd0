"""Grids of Beta 1: programs in turn, or dealt to cores as nl.nc and nl.spmd_dim say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from beta1_kernel import Run, made

from trnbench.errors import KernelError
from trnbench_emulator.nki.beta1.grid import nc, spmd_dim

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


def test_a_grid_runs_its_programs_in_turn(beta1: Run) -> None:
    x = made(256, 96)
    found = beta1(
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
def test_programs_are_dealt_to_cores_as_the_grid_says(
    beta1: Run, grid: Any, of_core: list[list[int]]
) -> None:
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
