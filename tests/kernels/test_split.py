"""How one problem is divided: nothing is lost or done twice, and what does not divide says so."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parts import part

from trnbench.facts.fact import Scope
from trnbench.kernels.kernel import Kernel
from trnbench.kernels.split import grid, largest, shares
from trnbench.kernels.work import Extent
from trnbench.registry import Registry
from trnbench.run.sources import kernel_files

ALONE = Extent(scope=Scope.CORE)

KERNELS: dict[str, Kernel] = {
    kernel.name: kernel for kernel in part("trnbench_kernels").trnbench_kernels() if kernel.split
}
COUNTS = ("flops", "vector_flops", "scalar_flops", "gpsimd_flops")


@st.composite
def problems(draw: st.DrawFn) -> tuple[Kernel, dict[str, Any], int]:
    kernel = KERNELS[draw(st.sampled_from(sorted(KERNELS)))]
    point: dict[str, Any] = {}
    for axis in kernel.axes:
        usual = st.sampled_from(axis.values)
        odd = st.integers(1, 40).map(lambda tiles: 128 * tiles)
        free = st.one_of(usual, odd) if axis.kind == "int" and axis.name != "head_dim" else usual
        point[axis.name] = draw(free)
    return kernel, point, draw(st.sampled_from((1, 2, 3, 8, 32, 128, 1152, 60_000)))


@settings(deadline=None)
@given(problems())
def test_the_work_of_all_shares_is_that_of_the_problem(problem: tuple[Kernel, dict[str, Any], int]) -> None:
    kernel, point, cores = problem
    split = kernel.split(point, cores)
    if split.refusal:
        assert not split.shards
        assert f"do not divide over {cores:,} cores" in split.refusal
        return
    assert sum(shard.cores for shard in split.shards) == cores
    whole = kernel.work(point, ALONE).as_counts()
    parts = [(kernel.work(shard.point, ALONE).as_counts(), shard.cores) for shard in split.shards]
    for count in COUNTS:
        if count in whole:
            assert sum(counts[count] * times for counts, times in parts) == pytest.approx(whole[count])
            assert all(before[count] >= after[count] for (before, _), (after, _) in pairwise(parts[:2]))
            assert parts[0][0][count] == max(counts[count] for counts, _ in parts)
    if "hbm_bytes" in whole:  # what several cores read counts for each of them
        assert sum(counts["hbm_bytes"] * times for counts, times in parts) >= 0.999 * whole["hbm_bytes"]


@given(st.integers(1, 100_000), st.integers(1, 5000), st.sampled_from((1, 128)))
def test_shares_add_up_and_differ_by_a_unit(size: int, parts: int, unit: int) -> None:
    if size < parts:
        return
    dealt = shares(size, parts, unit)
    assert sum(times for _, times in dealt) == parts
    assert sum(length * times for length, times in dealt) == size
    assert dealt[0][0] - dealt[-1][0] <= (2 * unit if size >= unit * parts else 1)


@pytest.mark.parametrize(
    ("size", "parts", "unit", "dealt"),
    [
        (8, 4, 1, ((2, 4),)),
        (10, 4, 1, ((3, 2), (2, 2))),
        (512, 4, 128, ((128, 4),)),
        (511, 4, 128, ((128, 3), (127, 1))),  # fewer units than parts: single elements
        (1000, 3, 128, ((384, 1), (360, 1), (256, 1))),  # the last unit is not whole
        (1020, 4, 128, ((256, 3), (252, 1))),
    ],
)
def test_whole_units_are_dealt(size: int, parts: int, unit: int, dealt: tuple[tuple[int, int], ...]) -> None:
    assert shares(size, parts, unit) == dealt
    assert largest(size, parts, unit) == dealt[0][0]


def test_a_grid_has_as_many_places_as_there_are_cores() -> None:
    assert grid(8, lambda rows, columns: (abs(rows - columns), rows)) == (2, 4)
    assert grid(8, lambda _rows, columns: (1,) if columns == 1 else None) == (8, 1)
    assert grid(9, lambda rows, columns: (0,)) == (1, 9)  # the first of those that cost as much
    assert grid(7, lambda rows, columns: None) is None


@pytest.mark.parametrize(
    ("kernel", "point", "cores", "told"),
    [
        ("gemm", {"size": 4096}, 8, "C in 4 × 2 parts of its rows and columns"),
        ("gemm_skinny", {"m": 1, "n": 4096, "k": 4096}, 8, "C in 1 × 8 parts of its rows and columns"),
        ("rms_norm", {"rows": 4096, "columns": 512}, 8, "4,096 rows over 8 cores"),
        ("attention", {"seq": 4096, "heads": 8, "mask": "full"}, 8, "8 heads over 8 cores"),
        (
            "attention",
            {"seq": 4096, "heads": 8, "mask": "causal"},
            32,
            "8 heads in 8 parts, queries of each block by block to 4 cores",
        ),
        ("moe_experts", {"experts": 8, "tokens": 16, "hidden": 2048, "columns": 2048}, 32,
         "experts in 8 parts, columns of their weights in 4"),
    ],
)  # fmt: skip
def test_what_is_divided(kernel: str, point: dict[str, Any], cores: int, told: str) -> None:
    split = KERNELS[kernel].split
    assert split({"dtype": "bf16", "head_dim": 128, **point}, cores).how == told


def test_the_file_of_a_split_is_a_source_of_its_kernel(registry: Registry) -> None:
    """So an edit there shows, and no answer of before it is taken from the cache."""
    files = {name: kernel_files([registry.kernels[name]], ("nki",)) for name in ("gemm", "gemm_shared")}
    assert "trnbench_kernels/split.py" in files["gemm"]
    assert "trnbench_kernels/split.py" not in files["gemm_shared"]
