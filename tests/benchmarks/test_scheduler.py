"""Calls per second of one core, in timing mode, from the call of a kernel to its schedule.

`executed`: every call is executed, its dependencies found, and scheduled; aim 100,000. `all`: what
`KernelModel.time` does, the waterfall and the critical path too. Divide `instructions` by the processor's
time (`--benchmark-timer=time.process_time`) on a machine that does other work as well.
"""

from __future__ import annotations

from typing import Any

import pytest

from trnbench.registry import load_registry
from trnbench_emulator.core.builder import Builder
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.pace import Pace
from trnbench_emulator.core.scheduler import schedule
from trnbench_emulator.core.timing import KernelModel
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record

SYSTEM = "trn2-16.48xlarge"


def told(benchmark: Any, instructions: int) -> None:
    benchmark.extra_info["instructions"] = instructions
    if benchmark.stats is not None:
        benchmark.extra_info["instructions_per_s"] = instructions / benchmark.stats.stats.min


@pytest.mark.parametrize("name", ["gemm_naive", "gemm_blocked"])
@pytest.mark.parametrize("step", ["record", "schedule", "executed"])
def test_timed_core(benchmark: Any, name: str, step: str) -> None:
    system = load_registry().system(SYSTEM)
    machine, pace = Machine.of(system), Pace(CostTable(system))
    kernel, _, _ = load_kernel(f"trnbench_kernels.nki.gemm:{name}", nki="trnbench")
    specs = (TensorSpec((2048, 2048), "bf16"),) * 2

    def recorded() -> Builder:
        builder = Builder(machine)
        record(kernel, specs, machine=machine, sink=builder)
        return builder

    program = recorded().program
    steps = {
        "record": recorded,
        "schedule": lambda: schedule(program, pace),
        "executed": lambda: schedule(recorded().program, pace),
    }
    benchmark(steps[step])
    told(benchmark, len(program))
    assert len(program) > 1000


@pytest.mark.parametrize("size", [2048, 8192])
def test_all_of_a_model(benchmark: Any, size: int) -> None:
    system = load_registry().system(SYSTEM)
    kernel, _, _ = load_kernel("trnbench_kernels.nki.gemm:gemm_blocked", nki="trnbench")
    specs = (TensorSpec((size, size), "bf16"),) * 2
    made = benchmark.pedantic(lambda: KernelModel().time(kernel, specs, system), rounds=3, warmup_rounds=1)
    told(benchmark, len(made.schedule.program))
    assert made.latency_s > 0
