"""Cases whose cores share one problem: their kernel is launched as so many programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trnbench.emulator.core.costs import CostTable
from trnbench.emulator.core.emulate import Piece, counted
from trnbench.emulator.core.grid import record_programs
from trnbench.emulator.core.launched import LaunchResult, time_programs
from trnbench.emulator.core.pace import Pace
from trnbench.emulator.core.program import Program
from trnbench.emulator.core.recorded import CALL_LIMIT, argument, taken, unrecorded
from trnbench.emulator.core.roofline import Estimate, held_by
from trnbench.errors import KernelError
from trnbench.generation import System
from trnbench.kernels.case import Case
from trnbench.nki import Machine
from trnbench.nki.instruction import DMA
from trnbench.nki.jit import Kernel
from trnbench.nki.provide import provide
from trnbench.nki.source import Sources
from trnbench.results.measurement import Part


class SharedModel:
    """Programs are recorded once for a machine and a point, and scheduled once for equal costs."""

    def __init__(self) -> None:
        self._sources = Sources()
        self._recorded: dict[Any, tuple[Program, ...]] = {}
        self._timed: dict[Any, LaunchResult] = {}
        self._tables: dict[str, tuple[System, CostTable]] = {}

    def estimate(self, case: Case, system: System) -> Estimate:
        """The time of the last program. Raises `KernelError` where the source does not take the point."""
        table = self._table(system)
        ref, by, key, programs = self._programs(case, system)
        count, held = len(programs), held_by(case)
        paces = tuple(Pace(table, sharing=count).key(each) for each in programs)
        seen = self._timed.get((key, held, case.explain, paces))
        if seen is None:
            seen = time_programs(programs, table, cores=count, held=held, explain=case.explain)
            self._timed[key, held, case.explain, paces] = seen
        parts = {**seen.busy_s, "launch": seen.launch_s}
        return Estimate(
            time_s=seen.latency_s,
            parts=tuple(Part(name=name, seconds=seconds) for name, seconds in parts.items() if seconds),
            bound=seen.bound,
            implementation=f"nki: {ref} ({by}), {count:,} programs",
            counters=_counters(programs),
            notes=(
                f"instructions recorded call by call in {count:,} programs, each on a core",
                f"the last program takes {seen.imbalance:.1%} longer than they do on average",
                *seen.notes,
            ),
            detail={
                **({"waterfall": [list(term) for term in seen.waterfall]} if case.explain else {}),
                "busy": {name: seconds for name, seconds in seen.busy_s.items() if seconds},
                "strip": seen.schedule.strip(),
                "programs": [[each.latency_s, each.waited_s] for each in seen.programs],
            },
        )

    def _programs(self, case: Case, system: System) -> tuple[str, str, Any, tuple[Program, ...]]:
        """Source, which nki, what tells the programs from others, and the programs."""
        count, machine = case.extent.cores, Machine.of(system)
        source = taken(self._sources, case)
        if source is None:
            raise KernelError(
                f"{case.kernel.name} has no NKI source that takes {dict(case.key.point)}",
                cause="programs that share a problem are emulated call by call, not from a formula",
            )
        key = (source.ref, machine, source.inputs, count)
        if key not in self._recorded:
            launch = Kernel(source.kernel.function, source.kernel.options, count)
            args = [argument(each) for each in source.inputs]
            try:
                with provide("trnbench"):
                    self._recorded[key] = record_programs(
                        launch, args, machine, count=count, limit=CALL_LIMIT
                    )
            except KernelError as error:
                raise unrecorded(source, error) from error
        return source.ref, str(source.by), key, self._recorded[key]

    def _table(self, system: System) -> CostTable:
        found = self._tables.get(system.name)
        if found is None or found[0] is not system:
            found = self._tables[system.name] = (system, CostTable(system))
        return found[1]


def _counters(programs: Sequence[Program]) -> dict[str, float]:
    """Of all programs."""
    found: dict[str, float] = {"tensor_flops": 0.0, "hbm_bytes": 0.0}
    for program in programs:
        for number, count in counted(program, (Piece((len(program),), 1),)).items():
            op = program.ops[number]
            name = f"{op.engine}_instructions"
            found[name] = found.get(name, 0.0) + count
            found["tensor_flops"] += float(op.flops * count)
            if op.engine == DMA:
                moved = op.traffic.get("hbm_read", 0) + op.traffic.get("hbm_write", 0)
                found["hbm_bytes"] += float(moved * count)
    found["recorded_calls"] = float(sum(map(len, programs)))
    return found
