"""Tiles that Python refers to beyond their last use, beside the same kernel that drops them.

`pytest tests/benchmarks/test_references.py --benchmark-enable -s` prints how many times the processor time of
the tidy kernel the other takes: what it costs to tell that its tiles fit none the less. Aim 1.5.
"""

from __future__ import annotations

import gc
import time
from pathlib import Path
from statistics import median
from typing import Any

from trnbench.registry import load_registry
from trnbench_emulator.core.builder import Builder
from trnbench_emulator.nki import Machine, TensorSpec, Trace, load_kernel, record

ROUNDS = 9
SOURCE = TensorSpec((2_048, 32_768), "float32")


def test_tiles_that_are_referred_to_for_longer_than_they_are_of_use(benchmark: Any, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text((Path(__file__).parent / "crowded.txt").read_text())
    kernel, _, _ = load_kernel(f"{file}::crowded", nki="trnbench")
    machine = Machine.of(load_registry().system("trn2-16.48xlarge"))

    def recorded(tidy: bool) -> tuple[float, Trace]:
        gc.collect()
        begin = time.process_time()
        trace = record(kernel, (SOURCE, tidy), machine=machine, sink=Builder(machine))
        return time.process_time() - begin, trace

    (_, crowded), (_, tidy) = recorded(False), recorded(True)
    assert crowded.count == tidy.count
    ratios: list[float] = []

    def in_turns() -> None:
        for _ in range(ROUNDS if benchmark.enabled else 1):
            least, _ = recorded(True)
            most, _ = recorded(False)
            ratios.append(most / least)

    benchmark.pedantic(in_turns, rounds=1)
    benchmark.extra_info["times"] = median(ratios)
    print(f"\n{tidy.count:,} instructions, tiles referred to for longer: {median(ratios):.2f} times the cost")
