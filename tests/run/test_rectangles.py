"""Products whose sides differ: as they are typed, planned, named, counted and read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import messages
from stored_run import message_of, text_of

import trnbench
from trnbench.errors import UsageError
from trnbench.kernels.kernel import Kernel
from trnbench.registry import load_registry
from trnbench.run.plan import plan
from trnbench.run.points import Points, point_of
from trnbench.run.selection import Selection

REGISTRY = load_registry()
KERNELS = REGISTRY.kernels
PRODUCTS = ("gemm", "gemm_naive", "gemm_blocked", "gemm_shared", "gemm_int8", "gemm_sparse")


def points(kernel: Kernel, *axes: str, **options: Any) -> tuple[dict[str, object], ...]:
    selection = Selection.of(axes=axes, **options)
    return Points.of(selection, [kernel]).combine(kernel, wide=False)[0]  # type: ignore[return-value]


@pytest.mark.parts
@pytest.mark.parametrize("name", PRODUCTS)
def test_every_product_takes_its_sides(name: str) -> None:
    found = points(KERNELS[name], "size=8192x4096x1024", dtypes=(KERNELS[name].axes[0].values[0],))
    assert [(point["m"], point["n"], point["k"]) for point in found] == [(8192, 4096, 1024)] * len(found)
    assert not any("size" in point for point in found)


@pytest.mark.parts
def test_sides_apart_are_crossed_or_move_together_and_a_square_is_a_size() -> None:
    kernel, options = KERNELS["gemm"], {"dtypes": ("bf16",)}
    sides = ("m=64,128", "n=64,32", "k=64,16")
    crossed = points(kernel, *sides, **options)
    assert (len(crossed), crossed[0]) == (8, {"dtype": "bf16", "size": 64})
    assert points(kernel, *sides, zips=("m,n,k",), **options) == (
        {"dtype": "bf16", "size": 64},
        {"dtype": "bf16", "m": 128, "n": 32, "k": 16},
    )
    assert points(kernel, *sides, zips=("m,n,k",), excludes=("m>100",), **options) == (crossed[0],)


@pytest.mark.parts
@pytest.mark.parametrize(("words", "message", "code"), messages(Path(__file__).parent / "wrong_sides.txt"))
def test_some_of_the_sides_are_refused(words: str, message: str, code: int) -> None:
    axes, *zips = words.split(" --zip ")
    given = {"zips": tuple(zips)}
    assert message_of(UsageError, lambda: points(KERNELS["gemm"], *axes.split(), **given)) == (message, code)


@pytest.mark.parts
@pytest.mark.parametrize("name", ["gemm_skinny", "gemm_ragged"])
@pytest.mark.parametrize(("size", "sides"), [("8192x4096x1024", "-a m=8192 -a n=4096 -a k=1024"),
                                             ("2K", "-a m=2K -a n=2K -a k=2K")])  # fmt: skip
def test_a_kernel_of_sides_names_the_one_that_takes_a_size(name: str, size: str, sides: str) -> None:
    selection = Selection.of(kernels=name, axes=(f"size={size}",))
    assert text_of(UsageError, plan, REGISTRY, selection) == (
        f"{name} has no axis 'size'\n"
        "  cause: it sweeps m, n, k; one product of any sides is gemm\n"
        f"  try:   trnbench run gemm -a size={size}   or {name} with {sides}"
    )
    plan(REGISTRY, Selection.of(kernels="gemm", axes=(f"size={size}",), instances=("trn2.3xlarge",)))


@pytest.mark.parts
@given(st.tuples(*[st.integers(1, 1 << 14)] * 3))
def test_work_is_that_of_the_sides(sides: tuple[int, int, int]) -> None:
    kernel, (m, n, k) = KERNELS["gemm"], sides
    point = point_of(kernel, {"dtype": "bf16", "size": sides})
    work = kernel.work(point, trnbench.Extent(scope=trnbench.Scope.CORE, cores=1))
    assert work.flops == 2 * m * n * k
    assert work.bytes["hbm"] == 2 * (m * k + k * n + m * n)
    assert kernel.published.sizes(point) == {"M": m, "N": n, "K": k}


@pytest.mark.parts
def test_a_rectangle_runs_at_every_scope_and_is_read_again() -> None:
    run = trnbench.bench("gemm", instances=["trn2.3xlarge"], dtypes=["bf16"], axes={"size": ["512x256x128"]})
    scopes = [measurement.case.scope for measurement in run.measurements]
    assert len(set(scopes)) == len(scopes) >= 3
    assert {str(measurement.status) for measurement in run.measurements} == {"ok"}
    (core,) = (each for each in run.measurements if each.case.scope is trnbench.Scope.CORE)
    assert core.id == "trn2.3xlarge::gemm[dtype=bf16,m=512,n=256,k=128]@core"
    again = trnbench.bench("gemm_skinny", instances=["trn2.3xlarge"], axes=["m=512", "n=256", "k=128"],
                           dtypes=["bf16"], scopes=["core"])  # fmt: skip
    assert again.measurements[0].time_s == core.time_s
