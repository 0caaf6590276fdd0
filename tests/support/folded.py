"""One kernel recorded and scheduled twice, every round executed and loops folded, and both held together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trnbench_emulator.core.builder import Builder
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.pace import Pace, Without
from trnbench_emulator.core.program import Program
from trnbench_emulator.core.scheduler import NOTHING_REMOVED, schedule
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record

TRN1, TRN2, TRN3 = "trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen2-ultraserver"
CAUSES = (
    NOTHING_REMOVED,
    Without(throttle=True, exclusions=True),
    Without(throttle=True, exclusions=True, buffers=True, start=True),
    Without(throttle=True, exclusions=True, buffers=True, start=True, latency=True, order=True),
    Without(order=True, hbm=True, queues=frozenset({"vector", "scalar"})),
    Without(throttle=True, exclusions=True, queues=frozenset({"load ring", "store ring"})),
    Without(throttle=True, buffers=True, hbm=True, queues=frozenset({"gpsimd", "load ring", "store ring"})),
)
SPEC = TensorSpec((128, 8192), "float32")


class Both:
    """A kernel recorded with and without folding."""

    def __init__(self, file: Path, system: Any, *args: Any, name: str = "kernel") -> None:
        self.machine = Machine.of(system)
        self.system = system
        self.executed = 0
        self.peaks: list[tuple[int, int]] = []
        self.unfolded = self._record(file, name, args, False)
        self.folded = self._record(file, name, args, True)

    def _record(self, file: Path, name: str, args: Any, fold: bool) -> Program:
        kernel, _, _ = load_kernel(f"{file}::{name}", nki="trnbench")
        builder = Builder(self.machine)
        issue = builder.issue
        self.executed = 0

        def counted(*instruction: Any) -> None:
            self.executed += 1
            issue(*instruction)

        builder.issue = counted  # type: ignore[method-assign]
        trace = record(kernel, args, machine=self.machine, sink=builder, fold=fold)
        self.peaks.append((trace.sbuf_peak_bytes, trace.psum_peak_bytes))
        assert trace.count == len(builder.program)
        return builder.program

    def check(self) -> None:
        same_program(self.unfolded, self.folded)
        assert self.peaks[0] == self.peaks[1]
        pace = Pace(CostTable(self.system))
        for without in CAUSES:
            same_schedule(self.unfolded, self.folded, pace, without)


def same_program(one: Program, other: Program) -> None:
    for name in ("op", "place", "waiters", "deps"):
        assert getattr(one, name) == getattr(other, name), name
    assert [each.key() for each in one.ops] == [each.key() for each in other.ops]
    assert one.places == other.places
    for name in ("owners", "refs", "sizes"):
        assert getattr(one.psum, name) == getattr(other.psum, name), name


def same_schedule(one: Program, other: Program, pace: Pace, without: Without) -> None:
    plain = schedule(one, pace, without=without, fold=False)
    folded = schedule(other, pace, without=without)
    for name in ("total", "busy", "start", "issued", "end", "cause"):
        assert getattr(plain, name) == getattr(folded, name), name
