"""Executed calls of four kernels, beside a tracer that lists names, shapes and types.

`pytest tests/benchmarks/test_bare_tracer.py --benchmark-enable -s` prints how many times its cost we take, in
time of a processor, both in turns; aim 4. `recorded`: the kernel is executed with shapes only, its rules are
checked, its memory is kept, and what each instruction waits for is found. `timed`: that, and its schedule.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from bare_tracer import Tile, traced

import trnbench_kernels
from trnbench.registry import load_registry
from trnbench_emulator.core.builder import Builder
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.pace import Pace
from trnbench_emulator.core.scheduler import schedule
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record

ROUNDS = 15
FLASH = Path(trnbench_kernels.__file__).parent / "nki" / "flash.py"
BLOCK_SPARSE = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def block_sparse(a, b, seed):
    out = nl.ndarray((a.shape[1], b.shape[1]), dtype=a.dtype, buffer=nl.shared_hbm)
    for m in range(a.shape[1] // 128):
        for n in range(b.shape[1] // 512):
            sums = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            empty = True
            for k in range(a.shape[0] // 128):
                seed = (seed * 1103515245 + 12345) % 2147483648
                if seed >> 16 & 1:
                    continue
                left = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=left, src=a[128 * k : 128 * k + 128, 128 * m : 128 * m + 128])
                right = nl.ndarray((128, 512), dtype=b.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=right, src=b[128 * k : 128 * k + 128, 512 * n : 512 * n + 512])
                nisa.nc_matmul(dst=sums, stationary=left, moving=right)
                empty = False
            tile = nl.ndarray((128, 512), dtype=out.dtype, buffer=nl.sbuf)
            if empty:
                nisa.memset(dst=tile, value=0.0)
            else:
                nisa.tensor_copy(dst=tile, src=sums)
            nisa.dma_copy(dst=out[128 * m : 128 * m + 128, 512 * n : 512 * n + 512], src=tile)
    return out
"""
BANDED = """
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def banded(a, b):
    out = nl.ndarray((a.shape[1], b.shape[1]), dtype=a.dtype, buffer=nl.shared_hbm)
    tiles = a.shape[1] // 128
    for m in range(tiles):
        reach = m * m % 7
        for n in range(b.shape[1] // 512):
            sums = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in range(max(m - reach, 0), min(m + reach + 1, tiles)):
                left = nl.load(a[128 * k : 128 * k + 128, 128 * m : 128 * m + 128])
                right = nl.load(b[128 * k : 128 * k + 128, 512 * n : 512 * n + 512])
                sums += nisa.nc_matmul(left, right)
            tile = nl.copy(sums, dtype=out.dtype)
            high = nisa.tensor_reduce(nl.max, tile, axis=1)
            tile = nisa.tensor_scalar(tile, nl.subtract, high)
            nl.store(out[128 * m : 128 * m + 128, 512 * n : 512 * n + 512], value=tile)
    return out
"""


def tensor(*shape: int) -> tuple[tuple[int, ...], str]:
    return shape, "bfloat16"


QUERY, VALUE = tensor(1, 128, 1, 4096), tensor(1, 4096, 128)
SQUARE = tensor(4096, 4096)
KERNELS: dict[str, tuple[Path | str, tuple[Any, ...], str]] = {
    "flash": (FLASH, (QUERY, QUERY, VALUE, True, 0), "trn2-16.48xlarge"),
    "flash_backward": (
        FLASH,
        (QUERY, QUERY, QUERY, tensor(2, 1, 4096, 128), (QUERY, VALUE), tensor(1, 4096, 2), True, 0),
        "trn2-16.48xlarge",
    ),
    "block_sparse": (BLOCK_SPARSE, (tensor(2048, 2048), tensor(2048, 2048), 7), "trn2-16.48xlarge"),
    "banded": (BANDED, (tensor(2048, 2048), tensor(2048, 2048)), "trn1.32xlarge"),
}


def brought(value: Any, make: Callable[..., Any]) -> Any:
    """An argument with its tensors as those who run it take them."""
    if not isinstance(value, tuple):
        return value
    return make(*value) if isinstance(value[1], str) else tuple(brought(part, make) for part in value)


def spent(work: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()  # for both: recording does without it anyway
    begin = time.process_time()
    work()
    end = time.process_time()
    gc.enable()
    return end - begin


@pytest.mark.parametrize("name", KERNELS)
def test_executed_calls_beside_a_bare_tracer(benchmark: Any, name: str, tmp_path: Path) -> None:
    source, values, instance = KERNELS[name]
    file = tmp_path / "kernel.py"
    file.write_text(source.read_text() if isinstance(source, Path) else source)
    kernel, _, _ = load_kernel(f"{file}::{name}", nki="trnbench")
    system = load_registry().system(instance)
    machine, pace = Machine.of(system), Pace(CostTable(system))
    arguments = [brought(value, TensorSpec) for value in values]
    function, calls = traced(source, name)
    tiles = [brought(value, Tile) for value in values]

    def recorded() -> Builder:
        sink = Builder(machine)
        record(kernel, arguments, machine=machine, sink=sink)
        return sink

    def bare() -> None:
        calls.clear()
        function(*tiles)

    instructions = len(recorded().program)
    bare()
    ratios: dict[str, list[float]] = {"recorded": [], "timed": []}

    def in_turns() -> None:
        for _ in range(ROUNDS if benchmark.enabled else 1):
            least = max(spent(bare), 1e-9)
            ratios["recorded"].append(spent(recorded) / least)
            ratios["timed"].append(spent(lambda: schedule(recorded().program, pace)) / least)

    benchmark.pedantic(in_turns, rounds=1)
    medians = {how: median(turns) for how, turns in ratios.items()}
    benchmark.extra_info |= medians
    shown = ", ".join(f"{how} {ratio:.2f}" for how, ratio in medians.items())
    print(
        f"\n{name}: {instructions:,} instructions, {len(calls):,} calls; times a bare tracer's cost: {shown}"
    )
