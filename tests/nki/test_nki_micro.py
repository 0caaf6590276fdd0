"""The micro-benchmarks in NKI: right numbers, and the FLOP and bytes of their formulas in the trace."""

from __future__ import annotations

from collections import Counter
from typing import Any

import ml_dtypes
import msgspec
import numpy as np
import pytest

from trnbench.facts.scope import Scope
from trnbench.kernels.extent import Extent
from trnbench.kernels.families import attention, dma, hbm, normalisation, transpose
from trnbench.nki import Machine, TensorSpec, Trace, load_kernel, record

BASE = "trnbench.kernels.nki"
CORE = Extent(scope=Scope.CORE)
KERNELS = {
    each.name: each for family in (attention, dma, hbm, normalisation, transpose) for each in family.kernels()
}

# Kernel of a family, its NKI form, a point, NumPy's result.
POINTS: list[tuple[str, str, dict[str, Any]]] = [
    ("hbm_read", "streams:hbm_read", {"size": 4 << 20}),
    ("hbm_write", "streams:hbm_write", {"size": 4 << 20}),
    ("hbm_copy", "streams:hbm_copy", {"size": 4 << 20}),
    ("hbm_triad", "streams:hbm_triad", {"size": 4 << 20, "dtype": "fp32"}),
    ("dma_sweep", "streams:dma_sweep", {"bytes_per_partition": 512, "partitions": 128, "transfers": 8}),
    ("transpose", "transpose:transpose", {"dtype": "bf16", "size": 1280}),
    ("transpose", "transpose:transpose", {"dtype": "fp32", "size": 512}),
    ("softmax", "rows:softmax", {"dtype": "fp32", "rows": 300, "columns": 640}),
    ("layer_norm", "rows:layer_norm", {"dtype": "fp32", "rows": 256, "columns": 1100}),
    ("rms_norm", "rows:rms_norm", {"dtype": "bf16", "rows": 256, "columns": 512}),
    (
        "attention",
        "attention:attention",
        {"dtype": "bf16", "seq": 1024, "head_dim": 64, "mask": "full", "heads": 2},
    ),
    (
        "attention",
        "attention:attention",
        {"dtype": "bf16", "seq": 1024, "head_dim": 128, "mask": "causal", "heads": 1},
    ),
]
IDS = [f"{ref.split(':')[1]}-{'-'.join(str(v) for v in point.values())}" for _, ref, point in POINTS]


def _numpy(name: str, point: dict[str, Any], args: list[Any]) -> Any:
    x = args[0].astype(np.float32)
    if name == "hbm_write":
        return np.ones_like(x)
    if name == "hbm_copy":
        return x
    if name == "hbm_triad":
        return x + 3 * args[1]
    if name in ("hbm_read", "dma_sweep"):
        return x[-1, :1, :1]
    if name == "transpose":
        return x.T
    if name == "softmax":
        grown = np.exp(x - x.max(1, keepdims=True))
        return grown / grown.sum(1, keepdims=True)
    if name == "layer_norm":
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * args[1] + args[2]
    if name == "rms_norm":
        return x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * args[1].astype(np.float32)
    q, k, v = (each.astype(np.float32) for each in args[:3])
    scores = np.einsum("hdq,hdk->hqk", q, k) / np.sqrt(q.shape[1])
    if point["mask"] == "causal":
        scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
    grown = np.exp(scores - scores.max(2, keepdims=True))
    return np.einsum("hqk,hkd->hqd", grown / grown.sum(2, keepdims=True), v)


def _load(ref: str) -> tuple[Any, Any, str]:
    kernel, module, _ = load_kernel(f"{BASE}.{ref}", nki="trnbench")
    return kernel, module, ref.partition(":")[2]


def _values(specs: Any) -> list[Any]:
    rng = np.random.default_rng(3)
    kinds = {"bfloat16": ml_dtypes.bfloat16}
    made = []
    for spec in specs:
        if not isinstance(spec, tuple):
            made.append(spec)
            continue
        shape, dtype = spec
        if dtype == "uint8":
            made.append(rng.integers(0, 255, shape).astype(np.uint8))
        else:
            made.append(rng.standard_normal(shape, np.float32).astype(kinds.get(dtype, dtype)))
    return made


def _shapes(kernel: Any, specs: Any, machine: Machine) -> Trace:
    args = [TensorSpec(tuple(each[0]), each[1]) if isinstance(each, tuple) else each for each in specs]
    return record(kernel, args, machine=machine)


def _hbm(trace: Trace) -> int:
    return sum(
        n * (op.traffic.get("hbm_read", 0) + op.traffic.get("hbm_write", 0)) for op, n in trace.tally.items()
    )


@pytest.mark.parametrize("case", POINTS, ids=IDS)
def test_matches_numpy(case: Any, v3: Machine) -> None:
    name, ref, point = case
    kernel, module, function = _load(ref)
    args = _values(getattr(module, f"{function}_inputs")(point))
    got = record(kernel, args, machine=v3, functional=True).outputs[0]
    want = _numpy(name, point, args)
    loose = 2e-2 if point.get("dtype") == "bf16" else 2e-5
    np.testing.assert_allclose(got.astype(np.float32), want, rtol=loose, atol=loose)


@pytest.mark.parametrize("case", POINTS, ids=IDS)
def test_traced_bytes_and_flops_are_the_formula(case: Any, v3: Machine) -> None:
    name, ref, point = case
    kernel, module, function = _load(ref)
    trace = _shapes(kernel, getattr(module, f"{function}_inputs")(point), v3)
    work = KERNELS[name].work(point, CORE)
    witness = 8 if name in ("hbm_read", "dma_sweep") else 0  # one element, written back
    assert work.bytes["hbm"] <= _hbm(trace) <= work.bytes["hbm"] + witness
    flops = sum(op.flops * n for op, n in trace.tally.items())
    if point.get("mask") == "causal":  # whole tiles on the diagonal
        assert work.flops < flops < work.flops * (1 + 256 / point["seq"])
    else:
        assert flops == work.flops


@pytest.mark.parametrize("case", [each for each in POINTS if "softmax" not in each[1]], ids=lambda c: c[1])
def test_pieces_stand_for_the_whole(case: Any, v3: Machine) -> None:
    _, ref, point = case
    kernel, module, function = _load(ref)
    pieces = getattr(module, f"{function}_pieces", None)
    if pieces is None:
        pytest.skip("recorded whole: it has no pieces")
    inputs = getattr(module, f"{function}_inputs")(
        {**point, "size": 64 << 20} if "hbm" in function else point
    )
    added: Counter[str] = Counter()
    for part, times in pieces(inputs):
        trace = _shapes(kernel, part, v3)
        added["bytes"] += _hbm(trace) * times
        added["flops"] += sum(op.flops * n for op, n in trace.tally.items()) * times
    whole = _shapes(kernel, inputs, v3)
    assert added["flops"] == sum(op.flops * n for op, n in whole.tally.items())
    assert 0 <= added["bytes"] - _hbm(whole) <= 64  # a witness more for every piece


@pytest.mark.parametrize("name", ["layer_norm", "attention", "transpose", "hbm_triad"])
def test_fits_the_smallest_core(name: str, v2: Machine) -> None:
    small = msgspec.structs.replace(v2, sbuf_partition_bytes=192 << 10)
    points: dict[str, tuple[str, dict[str, Any]]] = {
        "layer_norm": ("rows", {"dtype": "fp32", "rows": 256, "columns": 8192}),
        "attention": (
            "attention",
            {"dtype": "bf16", "seq": 16384, "head_dim": 128, "heads": 1, "mask": "full"},
        ),
        "transpose": ("transpose", {"dtype": "fp32", "size": 2048}),
        "hbm_triad": ("streams", {"dtype": "fp32", "size": 16 << 20}),
    }
    module_name, point = points[name]
    kernel, module, function = _load(f"{module_name}:{name}")
    assert _shapes(kernel, getattr(module, f"{function}_inputs")(point), small).count > 0


def test_selective_scan(v3: Machine) -> None:
    kernel, _, _ = _load("scan:selective_scan")
    rng = np.random.default_rng(1)
    delta, u = (rng.random((128, 96)).astype(np.float32) for _ in range(2))
    a = -rng.random((128, 3)).astype(np.float32)
    b, c = (rng.standard_normal((3, 96)).astype(np.float32) for _ in range(2))
    trace = record(kernel, (delta, u, a, b, c), machine=v3, functional=True)
    want = np.zeros_like(delta)
    for s in range(3):
        h = np.zeros(128, np.float32)
        for t in range(96):
            h = np.exp(delta[:, t] * a[:, s]) * h + delta[:, t] * u[:, t] * b[s, t]
            want[:, t] += c[s, t] * h
    np.testing.assert_allclose(trace.outputs[0], want, rtol=1e-4, atol=1e-5)
    # delta and u once, A once, a row of B and of C for each state, y once.
    assert _hbm(trace) == 4 * (2 * 128 * 96 + 128 * 3 + 2 * 3 * 96 + 128 * 96)


@pytest.mark.parametrize("count", [16, 200])
def test_expert_gemm(count: int, v3: Machine) -> None:
    kernel, _, _ = _load("experts:expert_gemm")
    tokens, weights = _values((((3, 320, count), "bfloat16"), ((3, 320, 1300), "bfloat16")))
    trace = record(kernel, (tokens, weights), machine=v3, functional=True)
    want = np.einsum("ekm,ekn->emn", tokens.astype(np.float32), weights.astype(np.float32))
    np.testing.assert_allclose(trace.outputs[0].astype(np.float32), want, rtol=2e-2, atol=0.2)
    assert sum(op.flops * n for op, n in trace.tally.items()) == 2 * 3 * count * 320 * 1300
    assert _hbm(trace) == 2 * 3 * (320 * count + 320 * 1300 + count * 1300)


ENGINE_OPS = [
    ("vector", "copy"), ("vector", "tensor_scalar"), ("vector", "tensor_tensor"), ("vector", "reduce"),
    ("vector", "reciprocal"), ("scalar", "copy"), ("scalar", "exp"), ("scalar", "gelu"), ("scalar", "tanh"),
    ("gpsimd", "copy"), ("gpsimd", "tensor_tensor"),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "op"), ENGINE_OPS, ids=lambda each: each)
@pytest.mark.parametrize("name", ["burst", "chain"])
def test_engine_instructions(name: str, engine: str, op: str, v3: Machine) -> None:
    kernel, _, _ = _load(f"engines:{name}")
    x = np.full((128, 32), 2.0, np.float32)
    trace = record(kernel, (x, op, engine, 8), machine=v3, functional=True, keep=True)
    issued = [each for each in trace.instructions if each.op.engine == engine and each.op.opcode != "memset"]
    assert len(issued) == 8
    regions = {each.reads[0].region.storage for each in issued}
    assert len(regions) == (4 if name == "burst" else 1)
    rounds = 2 if name == "burst" else 8
    want = x
    for _ in range(rounds if op != "exp" or name == "burst" else 0):
        want = {"exp": np.exp, "tanh": np.tanh, "reciprocal": lambda v: 1 / v}.get(op, lambda v: v)(want)
    if op == "exp" and name == "chain":
        assert np.isposinf(trace.outputs[0]).all()
    elif op != "gelu":
        np.testing.assert_allclose(trace.outputs[0], want, rtol=1e-5)
