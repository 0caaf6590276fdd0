"""Every benchmark in NKI, on every generation, for every data type and instruction it takes: its trace counts
what its formula says, and its values are NumPy's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from campaigns import sweep
from kernel_extents import CORE
from kernel_extents import KERNELS as EVERY
from tallies import alike, flops, hbm_bytes

from trnbench.kernels.kernel import Kernel
from trnbench.kernels.work import Spread, item_bytes
from trnbench.registry import load_registry
from trnbench.run.plan import runs_on
from trnbench_emulator import nki_sources
from trnbench_emulator.nki import Machine, TensorSpec, Trace, load_kernel, record
from trnbench_emulator.nki.dtype import dtype_of, random_values
from trnbench_emulator.nki.source import Source, Sources
from trnbench_neuron import verification

GENERATIONS = {"trn1": "trn1.2xlarge", "trn2": "trn2-16.48xlarge", "trn3": "trn3-gen1-ultraserver"}
SMALL: dict[str, int] = {
    "size": 256, "m": 130, "n": 514, "k": 128, "rows": 130, "columns": 512, "seq": 512, "heads": 1,
    "channels": 128, "tokens": 12, "states": 2, "experts": 2, "hidden": 128, "instructions": 8,
    "elements": 64, "transfers": 3, "bytes_per_partition": 64, "products": 8,
    "exchanges": 4,
}  # fmt: skip
KERNELS = {name: each for name, each in EVERY.items() if nki_sources(each)}
LARGER: list[tuple[str, dict[str, Any]]] = [
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
"""Beside the small ones, on one generation: several tiles, tiles that are not full, causal attention."""
UNIT = {"bf16": 2.0**-8, "fp16": 2.0**-10, "fp32": 2.0**-18, "tf32": 2.0**-17}
"""Round-off of a result; 8-bit and microscaled operands leave bf16."""
DOCS = (Path(__file__).parents[2] / "docs" / "nki.md").read_text(encoding="utf-8")


@cache
def _system(generation: str) -> Any:
    return load_registry().system(GENERATIONS[generation])


def _points(kernel: Kernel) -> Iterator[dict[str, Any]]:
    base: dict[str, Any] = {axis.name: SMALL.get(axis.name, axis.values[0]) for axis in kernel.axes}
    if kernel.family in ("hbm", "dma") and "size" in base:
        base["size"] = 1 << 20
    if kernel.name == "gemm_beta1":
        base["size"] = 512
    words = {axis.name: axis.choices or axis.values for axis in kernel.axes if axis.kind == "str"}
    words.pop("mask", None)  # tests of attention take both
    for chosen in product(*words.values()):
        yield base | dict(zip(words, chosen, strict=True))


def _taken(kernel: Kernel) -> dict[str, list[dict[str, Any]]]:
    """By generation, the points that it does not lack anything for."""
    larger = [point for name, point in LARGER if name == kernel.name]
    return {
        generation: [
            point
            for point in (*_points(kernel), *(larger if generation == "trn2" else ()))
            if runs_on(kernel, _system(generation).instance)
            and not any(_system(generation).lacks(need) for need in kernel.requires(point))
        ]
        for generation in GENERATIONS
    }


def _source(kernel: Kernel, point: dict[str, Any]) -> Source:
    found = Sources().taking(nki_sources(kernel), point)
    assert found is not None, f"no source of {kernel.name} takes {point}"
    return found


def _specs(inputs: Any) -> list[Any]:
    return [TensorSpec(tuple(e[0]), e[1]) if isinstance(e, tuple) else e for e in inputs]


def _values(inputs: Any, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [random_values(dtype_of(e[1]), tuple(e[0]), rng, 8) if isinstance(e, tuple) else e for e in inputs]


def _launched(kernel: Kernel, point: dict[str, Any], function: Any) -> Any:
    """As two programs where they speak to each other."""
    talks = kernel.spread is Spread.SHARED and "instruction:sendrecv" in kernel.requires(point)
    return function[2] if talks else function


def _counted(kernel: Kernel, point: dict[str, Any], trace: Trace) -> None:
    work = kernel.work(point, CORE)
    counted = flops(trace)
    if point.get("mask") == "causal":  # whole tiles on the diagonal
        assert work.flops < counted < work.flops * (1 + 256 / point["seq"])
    else:
        assert counted == work.flops
    moved = hbm_bytes(trace)
    if kernel.name == "gemm_naive":
        # One tile of columns reads A once, two of rows read B twice.
        assert moved == work.bytes["hbm"] + 256 * 256 * item_bytes(point["dtype"])
    elif kernel.name == "gemm_beta1":
        assert moved >= work.bytes["hbm"]  # what is not kept on chip is read again
    elif "hbm" in work.bytes:
        more = 8 if kernel.family in ("hbm", "dma") else 0  # a read leaves one element as its witness
        if kernel.name == "selective_scan":  # rows of B and C once more for every 128 channels
            more = (point["channels"] // 128 - 1) * 2 * point["states"] * point["tokens"] * 4
        assert 0 <= moved - work.bytes["hbm"] <= more
    if work.instructions:
        engine = "tensor" if work.flops else next(iter(work.engine_flops))
        # NeuronCore-v2 has no double rows: both rows of a pair one behind the other.
        passes = 2 if (point.get("dtype"), trace.machine.generation) == ("fp8", "trn1") else 1
        assert sum(n for op, n in trace.tally.items() if op.engine == engine) == passes * work.instructions


def _plain(values: Any) -> Any:
    return (
        values.astype(np.float32)
        if isinstance(values, np.ndarray) and values.dtype.kind not in "iub"
        else values
    )


def _wanted(source: Source, args: list[Any]) -> tuple[Any, ...]:
    reference = source.reference()
    assert reference is not None, f"{source.ref} has no reference"
    # What rounds after every instruction is given what the kernel is given.
    found = reference(*(args if source.name in verification.KERNELS else map(_plain, args)))
    return found if isinstance(found, tuple) else (found,)


def _close(got: Any, want: Any, dtype: str) -> None:
    have, exact = got.astype(np.float64), np.asarray(want).astype(np.float64)
    assert have.shape == exact.shape
    unit = UNIT.get(dtype, 2.0**-8)
    finite = np.abs(exact[np.isfinite(exact)])
    size = float(finite.max()) if finite.size else 0.0
    np.testing.assert_allclose(have, exact, rtol=8 * unit, atol=8 * unit * size)


@pytest.mark.parametrize("generation", sweep(GENERATIONS, "trn2".__eq__))
@pytest.mark.parametrize("name", KERNELS)
def test_counts_and_values(name: str, generation: str) -> None:
    kernel = KERNELS[name]
    machine = Machine.of(_system(generation))
    for number, point in enumerate(_taken(kernel)[generation]):
        source = _source(kernel, point)
        function, inputs = _launched(kernel, point, source.kernel), source.inputs
        args = _values(inputs, number)
        if source.name == "selective_scan":  # as in the model: steps above 0, rates below
            args[0], args[2] = np.abs(args[0]), -np.abs(args[2])
        if point.get("op") in ("log", "sqrt", "rsqrt", "sin"):  # of values that Scalar's tables are made for
            args[0] = np.clip(np.abs(args[0].astype(np.float32)), 0.5, 3.0).astype(args[0].dtype)
        _counted(kernel, point, record(function, _specs(inputs), machine=machine))
        trace = record(function, args, machine=machine, functional=True, shadow=True)
        assert [str(finding) for finding in trace.findings] == []
        outputs, wanted = trace.outputs, _wanted(source, args)
        assert len(outputs) == len(wanted)
        for got, want in zip(outputs, wanted, strict=True):
            _close(got, want, str(point.get("dtype", "fp32")))


def _row(kernel: Kernel) -> str:
    taken = _taken(kernel)
    dtype, op = kernel.axis("dtype"), kernel.axis("op")
    cells = []
    for points in taken.values():
        words = dict.fromkeys(str(point["dtype"]) for point in points) if dtype else {}
        cells.append(", ".join(words) if dtype else "any" if points else "")
    ops = ", ".join(map(str, op.choices or op.values)) if op else ""
    return f"| `{kernel.name}` | " + " | ".join(each or "–" for each in cells) + f" | {ops} |"


def test_the_page_lists_every_case() -> None:
    listed = DOCS.split("<!-- cases: generated -->")[1].split("<!-- end of cases -->")[0]
    assert [line for line in listed.splitlines() if line.startswith("| `")] == [*map(_row, KERNELS.values())]


# Their pieces, and the instructions of engines ------------------------------------------------


def _of(name: str) -> tuple[Any, Any, str]:
    """The kernel of a benchmark, its module, and what its inputs and pieces are named by."""
    ref = str(EVERY[name].implementations["nki"])
    kernel, module, _ = load_kernel(ref, nki="trnbench")
    return kernel, module, ref.partition(":")[2]


def _shapes(kernel: Any, inputs: Any, machine: Machine) -> Trace:
    return record(kernel, _specs(inputs), machine=machine)


def test_every_kernel_of_the_core_is_an_nki_kernel() -> None:
    """All but what no public instruction does: integers, sparse operands; and copies over PCIe."""
    without = {
        name
        for name, each in EVERY.items()
        if not {"nki", "nki-beta1", "collective"} & set(each.implementations)
    }
    assert without == {"gemm_int8", "gemm_sparse", "host_to_device", "device_to_host"}


@pytest.mark.parametrize("case", LARGER, ids=str)
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
        added["bytes"] += hbm_bytes(trace) * times
        added["flops"] += flops(trace) * times
    whole = _shapes(kernel, inputs, v3)
    assert added["flops"] == flops(whole)
    assert 0 <= added["bytes"] - hbm_bytes(whole) <= 64  # a witness more for every piece


PRODUCTS = [
    (package, name, dtype, *shape)
    for package, names, dtypes, shapes in (
        (
            "trnbench_kernels.nki.gemm",
            ("_naive", "_best"),
            ("bf16", "fp32", "fp8"),
            ((2048, 4096, 1024), (3000, 2500, 1100), (1, 5000, 300)),
        ),
        (
            "trnbench_trn3.nki.gemm_mx",
            ("_naive", "_blocked", "_best"),
            ("mxfp8", "mxfp4"),
            ((2048, 4096, 1024), (3000, 2500, 1152), (2, 5000, 384)),
        ),
    )
    for name in names
    for dtype in dtypes
    for shape in shapes
]


@pytest.mark.parametrize(
    ("file", "name", "dtype", "m", "n", "k"),
    sweep(PRODUCTS, lambda *each: "trn3" not in each[0] or each[3] == 3000),
)
def test_pieces_of_a_product_add_up_to_the_whole(
    file: str, name: str, dtype: str, m: int, n: int, k: int, v3: Machine, v4: Machine
) -> None:
    function = file.rpartition(".")[2] + name
    kernel, module, _ = load_kernel(f"{file}{name if name == '_best' else ''}:{function}", nki="trnbench")
    inputs = getattr(module, f"{function}_inputs")({"m": m, "n": n, "k": k, "dtype": dtype})
    machine = v4 if "mx" in dtype else v3
    added: Counter[Any] = Counter()
    for part, times in getattr(module, f"{function}_pieces")(inputs):
        added += alike(_shapes(kernel, part, machine), times)
    assert added == alike(_shapes(kernel, inputs, machine))


@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("layer_norm", {"dtype": "fp32", "rows": 256, "columns": 8192}),
        ("attention", {"dtype": "fp32", "seq": 8192, "head_dim": 128, "heads": 1, "mask": "full"}),
        ("transpose", {"dtype": "fp32", "size": 2048}),
        ("hbm_triad", {"dtype": "fp32", "size": 16 << 20}),
        *(
            (name, {"dtype": dtype, "m": 2048, "n": 2048, "k": 4096})
            for name in ("gemm", "gemm_blocked")
            for dtype in ("bf16", "fp32", "fp8")
        ),
    ],
)
def test_fits_the_smallest_core(name: str, point: dict[str, Any], v2: Machine) -> None:
    small = msgspec.structs.replace(v2, sbuf_partition_bytes=192 << 10)
    kernel, module, function = _of(name)
    assert _shapes(kernel, getattr(module, f"{function}_inputs")(point), small).count > 0


OPS = [
    (engine, op)
    for engine in ("vector", "scalar", "gpsimd")
    for op in EVERY[f"{engine}_throughput"].axes[0].choices
]


@pytest.mark.parametrize(("engine", "op"), OPS, ids=lambda each: each)
@pytest.mark.parametrize("name", ["burst", "chain"])
def test_engine_instructions(name: str, engine: str, op: str, v3: Machine, v4: Machine) -> None:
    kernel, _, _ = load_kernel(f"trnbench_kernels.nki.engines:{engine}_{name}", nki="trnbench")
    x = np.linspace(-3.0, -2.0, 128 * 32, dtype=np.float32).reshape(128, 32)
    _, needed = EVERY[f"{engine}_throughput"].requires({"op": op, "dtype": "fp32"})
    machine = v4 if needed == "instruction:exponential" else v3
    trace = record(kernel, (x, op, 9), machine=machine, functional=True, keep=True)
    issued = [each for each in trace.instructions if each.op.engine == engine]
    assert len(issued) == 9
    assert sum(each.op.elements for each in issued) == 9 * 128 * 32
    assert {each.op.opcode for each in issued} == {needed.partition(":")[2]}
    regions = {each.reads[0].region.storage for each in issued if each.reads}
    if op == "iota":
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


ENGINES = [each.name for each in EVERY.values() if each.family == "engine" and each.axis("op") is not None]


@pytest.mark.parametrize("name", ENGINES)
def test_engine_kernels_issue_what_they_count(name: str, v3: Machine, v4: Machine) -> None:
    kernel, module, function = _of(name)
    engine = name.partition("_")[0].replace("activation", "scalar")
    for op in EVERY[name].axes[0].choices:
        point: dict[str, Any] = {axis.name: axis.values[0] for axis in EVERY[name].axes}
        point |= {"op": op, "dtype": "bf16", "elements": 64, "instructions": 10}
        needed = {need.partition(":")[2] for need in EVERY[name].requires(point) if "instruction" in need}
        machine = v4 if "exponential" in needed else v3
        trace = _shapes(kernel, getattr(module, f"{function}_inputs")(point), machine)
        issued = [(each, n) for each, n in trace.tally.items() if each.engine == engine]
        counts = EVERY[name].work(point, CORE).as_counts()
        assert sum(n for _, n in issued) == counts["instructions"] == 10
        assert sum(each.elements * n for each, n in issued) == counts["elements"] == 128 * 64 * 10
        assert {each.opcode for each, _ in issued} == needed


@pytest.mark.parametrize("dtype", ["bf16", "fp32", "fp8"])
@pytest.mark.parametrize("version", ["v2", "v3"])
def test_tensor_burst(dtype: str, version: str, request: pytest.FixtureRequest) -> None:
    machine = request.getfixturevalue(version)
    kernel, module, _ = _of("tensor_throughput")
    point = {"dtype": dtype, "columns": 64, "instructions": 10}
    specs = module.tensor_burst_inputs(point)
    trace = _shapes(kernel, specs, machine)
    assert flops(trace) == EVERY["tensor_throughput"].work(point, CORE).flops
    issued = sum(n for op, n in trace.tally.items() if op.opcode == "nc_matmul")
    assert issued == (20 if dtype == "fp8" and version == "v2" else 10)
    if dtype != "fp8":
        left, right, count = _values(specs, 3)
        got = record(kernel, (left, right, count), machine=machine, functional=True).outputs[0]
        want = np.einsum("kdm,kdn->mn", left.astype(np.float32), right.astype(np.float32))
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)
