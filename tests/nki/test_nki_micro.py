"""The micro-benchmarks in NKI: right numbers, and the FLOP and bytes of their formulas in the trace."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import ml_dtypes
import msgspec
import numpy as np
import pytest
from kernel_extents import KERNELS

from trnbench.facts.fact import Scope
from trnbench.kernels.work import Extent
from trnbench_emulator.nki import Machine, TensorSpec, Trace, load_kernel, record
from trnbench_kernels.engine import LANES, OPERATIONS

BASE = "trnbench_kernels.nki"
CORE = Extent(scope=Scope.CORE)

POINTS: list[tuple[str, dict[str, Any]]] = [
    ("hbm_read", {"size": 4 << 20}),
    ("hbm_write", {"size": 4 << 20}),
    ("hbm_copy", {"size": 4 << 20}),
    ("hbm_triad", {"size": 4 << 20, "dtype": "fp32"}),
    ("dma_sweep", {"bytes_per_partition": 512, "partitions": 128, "transfers": 8}),
    ("dma_sweep", {"bytes_per_partition": 65536, "partitions": 16, "transfers": 5}),
    ("transpose", {"dtype": "bf16", "size": 1280}),
    ("transpose", {"dtype": "fp32", "size": 512}),
    ("softmax", {"dtype": "fp32", "rows": 100, "columns": 640}),
    ("softmax", {"dtype": "fp32", "rows": 128, "columns": 640}),
    ("softmax", {"dtype": "bf16", "rows": 650, "columns": 640}),
    ("layer_norm", {"dtype": "fp32", "rows": 300, "columns": 1100}),
    ("rms_norm", {"dtype": "bf16", "rows": 256, "columns": 512}),
    ("rms_norm", {"dtype": "fp32", "rows": 50, "columns": 512}),
    ("attention", {"dtype": "bf16", "seq": 1024, "head_dim": 64, "mask": "full", "heads": 2}),
    ("attention", {"dtype": "bf16", "seq": 1024, "head_dim": 128, "mask": "causal", "heads": 1}),
    ("selective_scan", {"dtype": "fp32", "channels": 256, "tokens": 96, "states": 3}),
    ("selective_scan", {"dtype": "fp32", "channels": 128, "tokens": 33, "states": 1}),
    ("moe_experts", {"dtype": "bf16", "experts": 3, "tokens": 16, "hidden": 320, "columns": 1300}),
    ("moe_experts", {"dtype": "bf16", "experts": 2, "tokens": 200, "hidden": 256, "columns": 1024}),
]
IDS = [f"{name}-{'-'.join(str(v) for v in point.values())}" for name, point in POINTS]


def _numpy(name: str, point: dict[str, Any], args: list[Any]) -> Any:
    x = args[0].astype(np.float32)
    if name == "hbm_write":
        return np.ones_like(x)
    if name == "hbm_copy":
        return x
    if name == "hbm_triad":
        return x + 3 * args[1]
    if name == "moe_experts":
        return np.einsum("ekm,ekn->emn", x, args[1].astype(np.float32))
    if name == "selective_scan":
        return _scanned(*args)
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


def _scanned(delta: Any, u: Any, a: Any, b: Any, c: Any) -> Any:
    total = np.zeros_like(delta)
    for s in range(a.shape[1]):
        h = np.zeros(len(delta), np.float32)
        for t in range(delta.shape[1]):
            h = np.exp(delta[:, t] * a[:, s]) * h + delta[:, t] * u[:, t] * b[s, t]
            total[:, t] += c[s, t] * h
    return total


def _load(ref: str) -> tuple[Any, Any, str]:
    kernel, module, _ = load_kernel(ref, nki="trnbench")
    return kernel, module, ref.partition(":")[2]


def _of(name: str) -> tuple[Any, Any, str]:
    return _load(str(KERNELS[name].implementations["nki"]))


def test_every_kernel_of_the_core_is_an_nki_kernel() -> None:
    """All but what no public instruction does: integers, sparse operands; and copies over PCIe."""
    without = {
        name
        for name, each in KERNELS.items()
        if not {"nki", "nki-beta1", "collective"} & set(each.implementations)
    }
    assert without == {"gemm_int8", "gemm_sparse", "host_to_device", "device_to_host"}


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
    name, point = case
    kernel, module, function = _of(name)
    args = _values(getattr(module, f"{function}_inputs")(point))
    if name == "selective_scan":  # decays, as in the model: δ > 0, A < 0
        args[0], args[2] = np.abs(args[0]), -np.abs(args[2])
    got = record(kernel, args, machine=v3, functional=True).outputs[0]
    want = _numpy(name, point, args)
    loose = 2e-2 if point.get("dtype") == "bf16" else 1e-4 if name == "selective_scan" else 2e-5
    scale = 1.0 if name != "moe_experts" else float(np.abs(want).max())
    np.testing.assert_allclose(got.astype(np.float32), want, rtol=loose, atol=loose * scale)


@pytest.mark.parametrize("case", POINTS, ids=IDS)
def test_traced_bytes_and_flops_are_the_formula(case: Any, v3: Machine) -> None:
    name, point = case
    kernel, module, function = _of(name)
    trace = _shapes(kernel, getattr(module, f"{function}_inputs")(point), v3)
    work = KERNELS[name].work(point, CORE)
    witness = 8 if name in ("hbm_read", "dma_sweep") else 0  # one element, written back
    if name == "selective_scan":  # rows of B and C once more for every 128 channels
        again = point["channels"] // 128 - 1
        witness = again * 2 * point["states"] * point["tokens"] * 4
    assert work.bytes["hbm"] <= _hbm(trace) <= work.bytes["hbm"] + witness
    flops = sum(op.flops * n for op, n in trace.tally.items())
    if point.get("mask") == "causal":  # whole tiles on the diagonal
        assert work.flops < flops < work.flops * (1 + 256 / point["seq"])
    else:
        assert flops == work.flops


@pytest.mark.parametrize("case", POINTS, ids=IDS)
def test_pieces_stand_for_the_whole(case: Any, v3: Machine) -> None:
    name, point = case
    kernel, module, function = _of(name)
    pieces = getattr(module, f"{function}_pieces", None)
    if pieces is None:
        pytest.skip("recorded whole: it has no pieces")
    inputs = getattr(module, f"{function}_inputs")({**point, "size": 64 << 20} if "hbm" in name else point)
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
            {"dtype": "fp32", "seq": 8192, "head_dim": 128, "heads": 1, "mask": "full"},
        ),
        "transpose": ("transpose", {"dtype": "fp32", "size": 2048}),
        "hbm_triad": ("streams", {"dtype": "fp32", "size": 16 << 20}),
    }
    module_name, point = points[name]
    kernel, module, function = _load(f"{BASE}.{module_name}:{name}")
    assert _shapes(kernel, getattr(module, f"{function}_inputs")(point), small).count > 0


OPS = [(engine, op) for engine, operations in OPERATIONS.items() for op in operations]


@pytest.mark.parametrize(("engine", "op"), OPS, ids=lambda each: each)
@pytest.mark.parametrize("name", ["burst", "chain"])
def test_engine_instructions(name: str, engine: str, op: str, v3: Machine, v4: Machine) -> None:
    kernel, _, _ = _load(f"{BASE}.engines:{engine}_{name}")
    x = np.linspace(-3.0, -2.0, 128 * 32, dtype=np.float32).reshape(128, 32)
    machine = v4 if OPERATIONS[engine][op].instruction == "exponential" else v3
    trace = record(kernel, (x, op, 9), machine=machine, functional=True, keep=True)
    issued = [each for each in trace.instructions if each.op.engine == engine]
    assert len(issued) == 9
    assert sum(each.op.elements for each in issued) == 9 * 128 * 32
    assert {each.op.opcode for each in issued} == {OPERATIONS[engine][op].instruction}
    regions = {each.reads[0].region.storage for each in issued if each.reads}
    if not OPERATIONS[engine][op].reads:
        regions = {each.writes[0].region.storage for each in issued}
    assert len(regions) == (4 if name == "burst" else 1)
    want = x
    with np.errstate(over="ignore"):  # a chain: an exponential of an exponential of …
        for _ in range(1 if name == "burst" else 9):
            want = np.asarray(_STEP.get(op, lambda v: v)(want), np.float32)
    if op == "reduce":
        want = x.sum(1, keepdims=True)
    np.testing.assert_allclose(trace.outputs[0], want, rtol=2e-5)


_STEP: dict[str, Any] = {
    "tensor_scalar": lambda v: v * 0.5 + 1.0,
    "exp": np.exp,
    "scalar_tensor_tensor": lambda v: np.maximum(v * 0.5, v),
    "iota": lambda v: np.tile(np.arange(v.shape[1]), (len(v), 1)),
    "reciprocal": lambda v: 1 / v,
    "gelu": lambda v: v * np.vectorize(lambda each: 0.5 * (1 + math.erf(each / math.sqrt(2))))(v),
}


ENGINES = [each.name for each in KERNELS.values() if each.family == "engine" and each.axis("op") is not None]


@pytest.mark.parametrize("name", ENGINES)
def test_engine_kernels_issue_what_they_count(name: str, v3: Machine, v4: Machine) -> None:
    kernel, module, function = _of(name)
    engine = name.partition("_")[0].replace("activation", "scalar")
    for op in KERNELS[name].axes[0].choices:
        point: dict[str, Any] = {axis.name: axis.values[0] for axis in KERNELS[name].axes}
        point |= {"op": op, "dtype": "bf16", "elements": 64, "instructions": 10}
        needed = {need.partition(":")[2] for need in KERNELS[name].requires(point) if "instruction" in need}
        machine = v4 if "exponential" in needed else v3
        trace = _shapes(kernel, getattr(module, f"{function}_inputs")(point), machine)
        issued = [(each, n) for each, n in trace.tally.items() if each.engine == engine]
        counts = KERNELS[name].work(point, CORE).as_counts()
        assert sum(n for _, n in issued) == counts["instructions"] == 10
        assert sum(each.elements * n for each, n in issued) == counts["elements"] == LANES * 64 * 10
        assert {each.opcode for each, _ in issued} == needed


@pytest.mark.parametrize("dtype", ["bf16", "fp32", "fp8"])
@pytest.mark.parametrize("version", ["v2", "v3"])
def test_tensor_burst(dtype: str, version: str, request: pytest.FixtureRequest) -> None:
    machine = request.getfixturevalue(version)
    kernel, module, _ = _of("tensor_throughput")
    point = {"dtype": dtype, "columns": 64, "instructions": 10}
    specs = module.tensor_burst_inputs(point)
    trace = _shapes(kernel, specs, machine)
    assert (
        sum(op.flops * n for op, n in trace.tally.items())
        == KERNELS["tensor_throughput"].work(point, CORE).flops
    )
    issued = sum(n for op, n in trace.tally.items() if op.opcode == "nc_matmul")
    assert issued == (20 if dtype == "fp8" and version == "v2" else 10)
    if dtype != "fp8":
        left, right, count = _values(specs)
        got = record(kernel, (left, right, count), machine=machine, functional=True).outputs[0]
        want = np.einsum("kdm,kdn->mn", left.astype(np.float32), right.astype(np.float32))
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)
