"""Executed calls of five kernels, beside a tracer that lists names, shapes and types.

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
HERE = Path(__file__).parent


def tensor(*shape: int) -> tuple[tuple[int, ...], str]:
    return shape, "bfloat16"


QUERY, VALUE = tensor(1, 128, 1, 4096), tensor(1, 4096, 128)
KERNELS: dict[str, tuple[Path, tuple[Any, ...], str]] = {
    "flash": (FLASH, (QUERY, QUERY, VALUE, True, 0), "trn2-16.48xlarge"),
    "flash_backward": (
        FLASH,
        (QUERY, QUERY, QUERY, tensor(2, 1, 4096, 128), (QUERY, VALUE), tensor(1, 4096, 2), True, 0),
        "trn2-16.48xlarge",
    ),
    "block_sparse": (
        HERE / "block_sparse.txt",
        (tensor(2048, 2048), tensor(2048, 2048), 7),
        "trn2-16.48xlarge",
    ),
    "banded": (HERE / "banded.txt", (tensor(2048, 2048), tensor(2048, 2048)), "trn1.32xlarge"),
    "indexed": (HERE / "indexed.txt", (tensor(2048, 1024), tensor(2048, 2048)), "trn1.32xlarge"),
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
    file.write_text(source.read_text())
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
