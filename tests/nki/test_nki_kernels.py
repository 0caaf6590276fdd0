"""Kernels give the right numbers, and cost the same whether values or shapes flow through them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tallies import alike, flops, hbm_bytes

from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record
from trnbench_emulator.nki.dtype import DTYPES
from trnbench_emulator.nki.jit import Kernel

LADDER = ["gemm_naive", "gemm_blocked", "gemm_best"]
SHAPES = [(128, 512, 128), (300, 700, 1300), (1, 64, 256), (257, 513, 129), (256, 512, 2304)]


def _ref(name: str) -> str:
    return f"trnbench_kernels.nki.{name if name == 'gemm_best' else 'gemm'}:{name}"


def _matrix(rng: np.random.Generator, shape: tuple[int, int], dtype: str) -> np.ndarray[Any, Any]:
    return DTYPES[dtype].cast(rng.standard_normal(shape).astype(np.float32))


@pytest.mark.parametrize("name", LADDER)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float8_e4m3"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gemm_matches_numpy(name: str, dtype: str, shape: tuple[int, int, int], v3: Machine) -> None:
    m, n, k = shape
    kernel, _, provided = load_kernel(_ref(name), nki="trnbench")
    rng = np.random.default_rng(7)
    left, right = _matrix(rng, (k, m), dtype), _matrix(rng, (k, n), dtype)
    trace = record(kernel, (left, right), machine=v3, functional=True)
    exact = left.astype(np.float64).T @ right.astype(np.float64)
    (got,) = trace.outputs
    # One rounding to the result's type; sums over K are in fp32.
    unit = {"float32": 2**-18, "float16": 2**-10}.get(dtype, 2**-7)
    np.testing.assert_allclose(got.astype(np.float64), exact, rtol=unit, atol=unit * np.sqrt(k))
    assert got.shape == (m, n)
    assert provided.by == "trnbench"
    shapes = record(kernel, (TensorSpec((k, m), dtype), TensorSpec((k, n), dtype)), machine=v3)
    assert alike(shapes) == alike(trace)
    assert (shapes.count, shapes.output_specs) == (trace.count, trace.output_specs)
    assert shapes.outputs == ()


@pytest.mark.parametrize("name", LADDER[1:])
def test_counted_work_is_the_formula(name: str, v3: Machine) -> None:
    kernel, _, _ = load_kernel(_ref(name), nki="trnbench")
    size = 2048
    trace = record(kernel, (TensorSpec((size, size), "bf16"),) * 2, machine=v3)
    assert flops(trace) == 2 * size**3
    # The left operand is read once, the right twice (two blocks of rows of C), C is written once.
    assert hbm_bytes(trace) == 2 * size * size * (1 + 2 + 1)
    rows = [op.variables["run_bytes"] for op in trace.tally if op.engine == "dma"]
    assert min(rows) >= 2048


@pytest.mark.parametrize("name", LADDER[1:])
def test_double_rows_halve_the_matmuls(name: str, v2: Machine, v3: Machine) -> None:
    kernel, _, _ = load_kernel(_ref(name), nki="trnbench")
    specs = (TensorSpec((1024, 128), "fp8"), TensorSpec((1024, 512), "fp8"))

    def matmuls(machine: Machine) -> int:
        tally = record(kernel, specs, machine=machine).tally
        return sum(n for op, n in tally.items() if op.opcode == "nc_matmul")

    assert (matmuls(v2), matmuls(v3)) == (8, 4)


@pytest.mark.parametrize(("m", "programs"), [(640, 8), (640, 2), (128, 8), (1100, 3)])
def test_any_number_of_programs_shares_the_rows(v3: Machine, m: int, programs: int) -> None:
    kernel, _, _ = load_kernel(_ref("gemm_best"), nki="trnbench")
    rng = np.random.default_rng(12)
    left, right = _matrix(rng, (128, m), "bfloat16"), _matrix(rng, (128, 256), "bfloat16")
    launch = Kernel(kernel.function, programs)
    trace = record(launch, (left, right), machine=v3, functional=True)
    exact = left.astype(np.float64).T @ right.astype(np.float64)
    np.testing.assert_allclose(trace.outputs[0].astype(np.float64), exact, rtol=2**-7, atol=0.2)
    shapes = TensorSpec(left.shape, "bf16"), TensorSpec(right.shape, "bf16")
    shares = [flops(record(launch, shapes, machine=v3, program=number)) for number in range(programs)]
    assert sum(shares) == 2 * m * 128 * 256
    assert max(shares) - min(shares) <= 2 * 128 * 128 * 256  # a tile of rows


@pytest.mark.parametrize("functional", [True, False])
def test_a_users_matmul_runs_unmodified(user_kernels: Path, v3: Machine, functional: bool) -> None:
    kernel, _, _ = load_kernel(f"{user_kernels / 'tiled_matmul.py'}::tiled_matmul", nki="trnbench")
    rng = np.random.default_rng(3)
    left, right = _matrix(rng, (256, 128), "bfloat16"), _matrix(rng, (256, 1024), "bfloat16")
    trace = record(kernel, (left, right), machine=v3, functional=functional, keep=True)
    assert [each.op.opcode for each in trace.instructions].count("nc_matmul") == 4
    assert {Path(each.file).name for each in trace.instructions} == {"tiled_matmul.py"}
    assert [spec.shape for spec in trace.output_specs] == [(128, 1024)]
    if functional:
        exact = left.astype(np.float32).T @ right.astype(np.float32)
        np.testing.assert_allclose(trace.outputs[0].astype(np.float32), exact, rtol=2**-7, atol=0.05)


def test_row_kernels_match_numpy(user_kernels: Path, v3: Machine) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((200, 333)).astype(np.float32)
    run = {
        name: load_kernel(f"{user_kernels / 'rows.py'}::{name}", nki="trnbench")[0]
        for name in ("softmax_rows", "add", "transpose")
    }
    grown = np.exp(x - x.max(axis=1, keepdims=True))
    (soft,) = record(run["softmax_rows"], (x,), machine=v3, functional=True).outputs
    np.testing.assert_allclose(soft, grown / grown.sum(axis=1, keepdims=True), rtol=1e-5)
    y = rng.standard_normal((100, 64)).astype(ml_dtypes.bfloat16)
    (twice,) = record(run["add"], (y, y), machine=v3, functional=True).outputs
    np.testing.assert_array_equal(twice, (y.astype(np.float32) * 2).astype(ml_dtypes.bfloat16))
    z = rng.standard_normal((256, 384)).astype(np.float32)
    (turned,) = record(run["transpose"], (z,), machine=v3, functional=True).outputs
    np.testing.assert_array_equal(turned, z.T)
