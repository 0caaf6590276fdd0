"""Every benchmark in NKI, on every generation, for every data type and instruction it takes: its trace counts
what its formula says, and its values are NumPy's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaigns import sweep
from kernel_extents import KERNELS as EVERY

from trnbench.facts.fact import Scope
from trnbench.kernels.kernel import Kernel
from trnbench.kernels.work import Extent, Spread, item_bytes
from trnbench.registry import load_registry
from trnbench.run.plan import runs_on
from trnbench_emulator.nki import Machine, TensorSpec, Trace, record
from trnbench_emulator.nki.dtype import dtype_of, random_values
from trnbench_emulator.nki.source import Source, Sources
from trnbench_neuron import verification

GENERATIONS = {
    "trn1": "trn1.2xlarge",
    "trn2": "trn2-16.48xlarge",
    "trn3": "trn3-gen1-ultraserver",
}
SMALL: dict[str, int] = {
    "size": 256, "m": 130, "n": 514, "k": 128, "rows": 130, "columns": 512, "seq": 512, "heads": 1,
    "channels": 128, "tokens": 12, "states": 2, "experts": 2, "hidden": 128, "instructions": 8,
    "elements": 64, "transfers": 3, "bytes_per_partition": 64, "products": 8,
    "exchanges": 4,
}  # fmt: skip
KERNELS = {name: each for name, each in EVERY.items() if each.nki_sources}
UNIT = {"bf16": 2.0**-8, "fp16": 2.0**-10, "fp32": 2.0**-17, "tf32": 2.0**-17}
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
    return {
        generation: [
            point
            for point in _points(kernel)
            if runs_on(kernel, _system(generation).instance)
            and not any(_system(generation).lacks(need) for need in kernel.requires(point))
        ]
        for generation in GENERATIONS
    }


def _source(kernel: Kernel, point: dict[str, Any]) -> Source:
    found = Sources().taking(kernel.nki_sources, point)
    assert found is not None, f"no source of {kernel.name} takes {point}"
    return found


def _launched(kernel: Kernel, point: dict[str, Any], function: Any) -> Any:
    """As two programs where they speak to each other."""
    talks = kernel.spread is Spread.SHARED and "instruction:sendrecv" in kernel.requires(point)
    return function[2] if talks else function


def _counted(kernel: Kernel, point: dict[str, Any], trace: Trace) -> None:
    work = kernel.work(point, Extent(scope=Scope.CORE))
    assert sum(op.flops * n for op, n in trace.tally.items()) == work.flops
    moved = sum(
        n * (op.traffic.get("hbm_read", 0) + op.traffic.get("hbm_write", 0)) for op, n in trace.tally.items()
    )
    if kernel.name == "gemm_naive":
        # One tile of columns reads A once, two of rows read B twice.
        assert moved == work.bytes["hbm"] + 256 * 256 * item_bytes(point["dtype"])
    elif kernel.name == "gemm_beta1":
        assert moved >= work.bytes["hbm"]  # what is not kept on chip is read again
    elif "hbm" in work.bytes:
        assert 0 <= moved - work.bytes["hbm"] <= 8  # a read leaves one element as its witness
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
        rng = np.random.default_rng(number)
        args = [
            random_values(dtype_of(e[1]), tuple(e[0]), rng, 8) if isinstance(e, tuple) else e for e in inputs
        ]
        if source.name == "selective_scan":  # as in the model: steps above 0, rates below
            args[0], args[2] = np.abs(args[0]), -np.abs(args[2])
        specs = [TensorSpec(tuple(e[0]), e[1]) if isinstance(e, tuple) else e for e in inputs]
        _counted(kernel, point, record(function, specs, machine=machine))
        outputs = record(function, args, machine=machine, functional=True).outputs
        wanted = _wanted(source, args)
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
