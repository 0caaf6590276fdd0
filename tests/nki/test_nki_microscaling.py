"""Microscaled operands: where scales lie, what of them counts, and the products made of them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from campaigns import sweep
from kernel_extents import KERNELS
from numpy.typing import NDArray
from tallies import alike, flops, hbm_bytes

from trnbench.errors import KernelError
from trnbench.facts.fact import Scope
from trnbench.kernels.work import Extent, item_bytes
from trnbench_emulator.nki import Machine, TensorSpec, Trace, load_kernel, record
from trnbench_emulator.nki.dtype import DTYPES, pack, random_values, unpack
from trnbench_trn3.nki import references

Array = NDArray[Any]

PACKED = """
    scales = nl.ndarray((128, 96), nl.float8_e8m0fnu, buffer=nl.sbuf)
    sums = nl.ndarray((64, 96), nl.float32, buffer=nl.psum)
    for number in range(2):
        left = nl.load(args[2 * number])
        right = nl.load(args[2 * number + 1])
        packed = nl.ndarray((128, 64), nl.float8_e5m2_x4, buffer=nl.sbuf)
        other = nl.ndarray((128, 96), nl.float8_e5m2_x4, buffer=nl.sbuf)
        low, high = scales[8 * number:, :64], scales[8 * number + 4:]
        nisa.quantize_mx(packed, left, low)
        nisa.quantize_mx(other, right, high)
        nisa.nc_matmul_mx(sums, packed, other, low, high)
    out = nl.ndarray((64, 96), nl.float32, buffer=nl.shared_hbm)
    nl.store(out, nl.copy(sums))
    return out
"""


def _operand(rng: np.random.Generator, columns: int) -> Array:
    """bf16 whose groups of 8 partitions × 4 neighbours differ in size, so that a wrong scale shows."""
    sizes = np.exp2(rng.integers(-6, 7, (16, 1, columns, 1)))
    values = rng.standard_normal((16, 8, columns, 4)) * sizes
    return values.reshape(128, columns * 4).astype(ml_dtypes.bfloat16)


def _kept(values: Array) -> Array:
    """What an E5M2 with the scale of its group keeps, the contraction first."""
    groups = values.astype(np.float64).reshape(16, 8, -1, 4)
    largest = np.abs(groups).max(axis=(1, 3), keepdims=True)
    scale = 2.0 ** (np.floor(np.log2(largest)) - 14)
    kept = (groups / scale).astype(ml_dtypes.float8_e5m2).astype(np.float64) * scale
    return kept.transpose(0, 1, 3, 2).reshape(512, -1)


def test_scales_of_four_tiles_lie_in_one(snippets: Any, v4: Machine) -> None:
    rng = np.random.default_rng(2)
    args = [_operand(rng, columns) for columns in (64, 96, 64, 96)]
    trace = snippets.run(PACKED, *args, machine=v4, functional=True)
    kept = [_kept(each) for each in args]
    want = kept[0].T @ kept[1] + kept[2].T @ kept[3]
    np.testing.assert_allclose(trace.outputs[0], want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("start", [2, 16, 36])
def test_scales_start_at_a_place_for_scales(snippets: Any, v4: Machine, start: int) -> None:
    body = PACKED.replace("scales[8 * number:, :64]", f"scales[{start}:, :64]")
    args = [TensorSpec((128, 4 * columns), "bf16") for columns in (64, 96, 64, 96)]
    with pytest.raises(KernelError, match="quantize_mx on trn3") as caught:
        snippets.run(body, *args, machine=v4)
    assert f"starts at partition {start}, it may start at 0, 4, 8, 12" in caught.value.what


def _bytes(trace: Trace, opcode: str) -> tuple[int, int]:
    found = {op.opcode: op.traffic for op in trace.tally}[opcode]
    return found.get("sbuf_read", 0), found.get("sbuf_write", 0)


def test_only_scales_count_not_the_room_between_them(snippets: Any, v4: Machine) -> None:
    args = [TensorSpec((128, 4 * 64), "bf16")] * 4
    trace = snippets.run(PACKED.replace("96", "64"), *args, machine=v4)
    # 16 scales a column for 128 partitions of words.
    assert _bytes(trace, "quantize_mx") == (128 * 64 * 4 * 2, 128 * 64 * 4 + 16 * 64)
    assert _bytes(trace, "nc_matmul_mx") == (2 * (128 * 64 * 4 + 16 * 64), 0)


# The products made of them --------------------------------------------------------------------

LADDER = ["gemm_mx_naive", "gemm_mx_blocked", "gemm_mx_best"]
TYPES = {"mxfp8": ml_dtypes.float8_e4m3fn, "mxfp4": ml_dtypes.float4_e2m1fn}
SHAPES = [(128, 512, 512), (2, 64, 128), (300, 900, 640), (1100, 130, 640), (130, 2100, 2176)]


def _load(name: str) -> tuple[Any, Any]:
    module = "gemm_mx_best" if name == "gemm_mx_best" else "gemm_mx"
    kernel, found, _ = load_kernel(f"trnbench_trn3.nki.{module}:{name}", nki="trnbench")
    return kernel, found


def _quantised(rng: np.random.Generator, k: int, columns: int, dtype: str) -> tuple[Array, Array, Array]:
    """Words, scales, and the numbers they stand for; made otherwise than the reference reads them."""
    scales = np.exp2(rng.integers(-9, 10, (k // 32, columns)))
    values = rng.standard_normal((k, columns)).astype(np.float32).astype(TYPES[dtype])
    parts = values.view(np.uint8).reshape(k // 4, 4, columns)
    if dtype == "mxfp8":
        words = np.ascontiguousarray(parts.transpose(0, 2, 1)).view("<u4")[..., 0]
    else:
        one, two, three, four = (parts[:, at].astype(int) for at in range(4))
        words = (one + 16 * (two + 16 * (three + 16 * four))).astype(np.uint16)
    exact = values.astype(np.float64) * scales.repeat(32, axis=0)
    return words, scales.astype(ml_dtypes.float8_e8m0fnu), exact


@pytest.mark.parametrize("name", LADDER)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("m", "n", "k"), sweep(SHAPES, lambda m, *_: m < 1000 and m != 130))
def test_products_match_numpy(name: str, dtype: str, m: int, n: int, k: int, v4: Machine) -> None:
    rng = np.random.default_rng(13)
    left, left_scale, a = _quantised(rng, k, m, dtype)
    right, right_scale, b = _quantised(rng, k, n, dtype)
    kernel, module = _load(name)
    # Words arrive as the integers a framework has; one more view of them is no instruction.
    trace = record(kernel, (left, right, left_scale, right_scale), machine=v4, functional=True)
    want = a.T @ b
    (got,) = trace.outputs
    # One rounding to bf16; sums over K are in fp32, of terms up to the sum of magnitudes.
    slack = 2.0**-20 * (np.abs(a).T @ np.abs(b)).max()
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=2**-8, atol=slack)
    reference = getattr(references, name)(left, right, left_scale.astype(np.float32), right_scale)
    np.testing.assert_allclose(reference, want, rtol=1e-4, atol=slack)
    specs = getattr(module, f"{name}_inputs")({"m": m, "n": n, "k": k, "dtype": dtype})
    shapes = record(kernel, [TensorSpec(shape, kind) for shape, kind in specs], machine=v4)
    assert (shapes.count, shapes.output_specs) == (trace.count, trace.output_specs)
    assert alike(shapes) == alike(trace)


@pytest.mark.parametrize("name", LADDER)
@pytest.mark.parametrize("dtype", TYPES)
def test_counted_work_is_the_formula(name: str, dtype: str, v4: Machine) -> None:
    size = 1024
    kernel, module = _load(name)
    point = {"dtype": dtype, "size": size}
    specs = [TensorSpec(shape, kind) for shape, kind in getattr(module, f"{name}_inputs")(point)]
    trace = record(kernel, specs, machine=v4)
    work = KERNELS["gemm"].work(point, Extent(scope=Scope.CORE))
    assert flops(trace) == work.flops
    operand = size * size * item_bytes(dtype)
    # Without reuse A is read for each of 2 tiles of columns, B for each of 8 tiles of rows.
    again = operand * (2 - 1) + operand * (8 - 1) if name == "gemm_mx_naive" else 0
    assert hbm_bytes(trace) == work.bytes["hbm"] + again
    products = sum(n for op, n in trace.tally.items() if op.opcode == "nc_matmul_mx")
    assert products == (size // 512) * (size // 128) * (size // 512)


def test_two_programs_share_the_rows(v4: Machine) -> None:
    rng = np.random.default_rng(11)
    left, left_scale, a = _quantised(rng, 256, 640, "mxfp8")
    right, right_scale, b = _quantised(rng, 256, 700, "mxfp8")
    kernel, _ = _load("gemm_mx_best")
    trace = record(kernel[2], (left, right, left_scale, right_scale), machine=v4, functional=True)
    slack = 2.0**-20 * (np.abs(a).T @ np.abs(b)).max()
    np.testing.assert_allclose(trace.outputs[0].astype(np.float64), a.T @ b, rtol=2**-8, atol=slack)
    assert flops(trace) == 2 * 256 * 256 * 700


@pytest.mark.parametrize("name", LADDER)
@pytest.mark.parametrize(
    ("m", "k", "dtype"), [(3, 128, "mxfp8"), (128, 192, "mxfp4"), (128, 128, "bf16")], ids=str
)
def test_what_the_instruction_does_not_take_is_left_to_the_formula(
    name: str, m: int, k: int, dtype: str
) -> None:
    _, module = _load(name)
    assert getattr(module, f"{name}_inputs")({"m": m, "n": 512, "k": k, "dtype": dtype}) is None


def test_words_are_read_as_they_are_written() -> None:
    rng = np.random.default_rng(5)
    for name in ("float8_e5m2_x4", "float8_e4m3fn_x4", "float4_e2m1fn_x4"):
        kind = DTYPES[name]
        values = rng.standard_normal((3, 5, 4)).astype(np.float32)
        words = pack(values, kind)
        assert words.dtype == kind.numpy
        np.testing.assert_array_equal(unpack(words, kind), values.astype(kind.packed).astype(np.float32))
        lowest = kind.numpy.type((1 << (2 * kind.size)) - 1)
        assert not unpack(words & lowest, kind)[..., 1:].any()


def test_arguments_are_drawn_as_what_they_are() -> None:
    rng = np.random.default_rng(1)
    words = random_values(DTYPES["float8_e4m3fn_x4"], (64, 64), rng, 8)
    values = unpack(words, DTYPES["float8_e4m3fn_x4"])
    assert words.dtype == np.uint32
    assert abs(float(values.std()) - 1) < 0.05
    scales = random_values(DTYPES["float8_e8m0fnu"], (64, 64), rng, 8)
    assert set(np.unique(scales.astype(np.float32))) == {0.5, 1.0, 2.0}
    assert random_values(DTYPES["uint8"], (64, 64), rng, 8).max() == 7
