"""Instructions scheduled per second, and executed calls with their dependencies. Aim: 100,000 on one core."""

from __future__ import annotations

from typing import Any

import pytest

from trnbench.emulator.core.builder import Builder
from trnbench.emulator.core.costs import CostTable
from trnbench.emulator.core.pace import Pace
from trnbench.emulator.core.scheduler import schedule
from trnbench.nki import Machine, TensorSpec, load_kernel, record
from trnbench.registry import load_registry


@pytest.mark.parametrize("name", ["gemm_naive", "gemm_blocked"])
@pytest.mark.parametrize("step", ["record", "schedule"])
def test_timed_core(benchmark: Any, name: str, step: str) -> None:
    system = load_registry().system("trn2-16.48xlarge")
    machine, pace = Machine.of(system), Pace(CostTable(system))
    kernel, _, _ = load_kernel(f"trnbench.kernels.nki.gemm:{name}", nki="trnbench")
    specs = (TensorSpec((2048, 2048), "bf16"),) * 2

    def recorded() -> Builder:
        builder = Builder(machine)
        record(kernel, specs, machine=machine, sink=builder)
        return builder

    program = recorded().program
    benchmark(recorded if step == "record" else lambda: schedule(program, pace))
    if benchmark.stats is not None:
        benchmark.extra_info["instructions_per_s"] = len(program) / benchmark.stats.stats.median
    assert len(program) > 1000
