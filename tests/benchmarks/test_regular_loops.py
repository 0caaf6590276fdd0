"""Ten million regular instructions, recorded and scheduled, beside what a hundred million additions take.

`pytest tests/benchmarks/test_regular_loops.py --benchmark-enable -s` prints both, in time of one processor;
without it the loop has a thousandth of its rounds.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from trnbench.registry import load_registry
from trnbench_emulator.core.builder import Builder
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.pace import Pace
from trnbench_emulator.core.scheduler import Schedule, schedule
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record

ROUNDS = 3_333_333
KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def add_up(x, rounds):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    total = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)
    for i in range(rounds):
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[0:128, i * 64 : i * 64 + 64])
        nisa.activation(dst=tile, op=nl.exp, data=tile)
        nisa.tensor_tensor(dst=total, data1=total, data2=tile, op=nl.add)
    nisa.dma_copy(dst=out, src=total)
    return out
"""


def bare() -> int:
    total = 0
    for each in range(10**6):
        total += each
    return total


def test_ten_million_regular_instructions(benchmark: Any, tmp_path: Path) -> None:
    file = tmp_path / "regular.py"
    file.write_text(KERNEL)
    kernel, _, _ = load_kernel(f"{file}::add_up", nki="trnbench")
    system = load_registry().system("trn2-16.48xlarge")
    machine, pace = Machine.of(system), Pace(CostTable(system))
    rounds = ROUNDS if benchmark.enabled else ROUNDS // 1000
    arguments = (TensorSpec((128, 64 * rounds), "float8_e4m3"), rounds)
    spent: list[float] = []

    def recorded_and_scheduled() -> Schedule:
        begin = time.process_time()
        builder = Builder(machine)
        record(kernel, arguments, machine=machine, sink=builder)
        made = schedule(builder.program, pace)
        spent.append(time.process_time() - begin)
        return made

    made = benchmark.pedantic(recorded_and_scheduled, rounds=3 if benchmark.enabled else 1)
    assert len(made.program) == 3 * rounds + 2
    begin = time.process_time()
    bare()
    additions = 100 * (time.process_time() - begin)
    if benchmark.enabled:
        benchmark.extra_info["ratio"] = min(spent) / additions
        print(f"\n10 million instructions {min(spent):.2f} s, 100 million additions {additions:.2f} s")
