"""Kernels give the right numbers, and cost the same whether values or shapes flow through them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import ml_dtypes
import msgspec
import numpy as np
import pytest

from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record
from trnbench_emulator.nki.dtype import DTYPES
from trnbench_emulator.nki.jit import Kernel

LADDER = ["gemm_naive", "gemm_blocked", "gemm_best"]
SHAPES = [(128, 512, 128), (300, 700, 1300), (1, 64, 256), (257, 513, 129), (256, 512, 2304)]


def _ref(name: str) -> str:
    return f"trnbench_kernels.nki.{name if name == 'gemm_best' else 'gemm'}:{name}"


def _matrix(rng: np.random.Generator, shape: tuple[int, int], dtype: str) -> np.ndarray[Any, Any]:
    return DTYPES[dtype].cast(rng.standard_normal(shape).astype(np.float32))


def _sums(tally: Any) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for op, count in tally.items():
        found[op.key()] += count
    return found


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


@pytest.mark.parametrize("name", LADDER)
@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
def test_timing_mode_issues_the_same_instructions(name: str, shape: Any, v3: Machine) -> None:
    m, n, k = shape
    kernel, _, _ = load_kernel(_ref(name), nki="trnbench")
    rng = np.random.default_rng(1)
    values = record(
        kernel,
        (_matrix(rng, (k, m), "bfloat16"), _matrix(rng, (k, n), "bfloat16")),
        machine=v3,
        functional=True,
    )
    shapes = record(kernel, (TensorSpec((k, m), "bf16"), TensorSpec((k, n), "bf16")), machine=v3)
    assert _sums(values.tally) == _sums(shapes.tally)
    assert values.count == shapes.count
    assert values.output_specs == shapes.output_specs
    assert shapes.outputs == ()


@pytest.mark.parametrize("name", ["gemm_naive", "gemm_best"])
@pytest.mark.parametrize("dtype", ["bf16", "fp32", "fp8"])
@pytest.mark.parametrize("shape", [(2048, 4096, 1024), (3000, 2500, 1100), (1, 5000, 300)], ids=str)
def test_pieces_add_up_to_the_whole(name: str, dtype: str, shape: tuple[int, int, int], v3: Machine) -> None:
    m, n, k = shape
    kernel, module, _ = load_kernel(_ref(name), nki="trnbench")
    inputs = getattr(module, f"{name}_inputs")({"m": m, "n": n, "k": k, "dtype": dtype})
    pieces = getattr(module, f"{name}_pieces")(inputs)

    def tally(specs: Any) -> Counter[Any]:
        args = [TensorSpec(shape, kind) for shape, kind in specs]
        return _sums(record(kernel, args, machine=v3).tally)

    added: Counter[Any] = Counter()
    for part, times in pieces:
        for key, count in tally(part).items():
            added[key] += count * times
    assert added == tally(inputs)
    assert len(pieces) <= sum(times for _, times in pieces)


@pytest.mark.parametrize("name", LADDER[1:])
def test_counted_work_is_the_formula(name: str, v3: Machine) -> None:
    kernel, _, _ = load_kernel(_ref(name), nki="trnbench")
    size = 2048
    trace = record(kernel, (TensorSpec((size, size), "bf16"),) * 2, machine=v3)
    assert sum(op.flops * n for op, n in trace.tally.items()) == 2 * size**3
    moved = sum(
        n * (op.traffic.get("hbm_read", 0) + op.traffic.get("hbm_write", 0)) for op, n in trace.tally.items()
    )
    # The left operand is read once, the right twice (two blocks of rows of C), C is written once.
    assert moved == 2 * size * size * (1 + 2 + 1)
    rows = [op.variables["run_bytes"] for op in trace.tally if op.engine == "dma"]
    assert min(rows) >= 2048


@pytest.mark.parametrize("name", LADDER[1:])
@pytest.mark.parametrize("dtype", ["bf16", "fp32", "fp8"])
def test_gemm_fits_the_smallest_core(name: str, dtype: str, v2: Machine) -> None:
    small = msgspec.structs.replace(v2, sbuf_partition_bytes=192 << 10)
    kernel, _, _ = load_kernel(_ref(name), nki="trnbench")
    trace = record(kernel, (TensorSpec((4096, 2048), dtype), TensorSpec((4096, 2048), dtype)), machine=small)
    assert trace.count > 0


@pytest.mark.parametrize("name", LADDER[1:])
def test_double_rows_halve_the_matmuls(name: str, v2: Machine, v3: Machine) -> None:
    kernel, _, _ = load_kernel(_ref(name), nki="trnbench")
    specs = (TensorSpec((1024, 128), "fp8"), TensorSpec((1024, 512), "fp8"))

    def matmuls(machine: Machine) -> int:
        tally = record(kernel, specs, machine=machine).tally
        return sum(n for op, n in tally.items() if op.opcode == "nc_matmul")

    assert (matmuls(v2), matmuls(v3)) == (8, 4)


def test_two_programs_share_the_rows(v3: Machine) -> None:
    kernel, _, _ = load_kernel(_ref("gemm_best"), nki="trnbench")
    rng = np.random.default_rng(11)
    left, right = _matrix(rng, (256, 640), "bfloat16"), _matrix(rng, (256, 700), "bfloat16")
    trace = record(kernel[2], (left, right), machine=v3, functional=True)
    exact = left.astype(np.float64).T @ right.astype(np.float64)
    np.testing.assert_allclose(trace.outputs[0].astype(np.float64), exact, rtol=2**-7, atol=0.2)
    flops = sum(op.flops * n for op, n in trace.tally.items())
    assert flops == 2 * 256 * 256 * 700  # program 0 has 2 of the 5 tiles of rows


@pytest.mark.parametrize(("m", "programs"), [(640, 8), (128, 8), (1100, 3)])
def test_any_number_of_programs_shares_the_rows(v3: Machine, m: int, programs: int) -> None:
    kernel, _, _ = load_kernel(_ref("gemm_best"), nki="trnbench")
    rng = np.random.default_rng(12)
    left, right = _matrix(rng, (128, m), "bfloat16"), _matrix(rng, (128, 256), "bfloat16")
    launch = Kernel(kernel.function, {}, programs)
    trace = record(launch, (left, right), machine=v3, functional=True)
    exact = left.astype(np.float64).T @ right.astype(np.float64)
    np.testing.assert_allclose(trace.outputs[0].astype(np.float64), exact, rtol=2**-7, atol=0.2)
    shapes = TensorSpec(left.shape, "bf16"), TensorSpec(right.shape, "bf16")
    shares = [record(launch, shapes, machine=v3, program=number).tally for number in range(programs)]
    flops = [sum(op.flops * n for op, n in tally.items()) for tally in shares]
    assert sum(flops) == 2 * m * 128 * 256
    assert max(flops) - min(flops) <= 2 * 128 * 128 * 256  # a tile of rows


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
