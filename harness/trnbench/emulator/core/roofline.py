"""The roofline: a core takes as long as its busiest engine, its DMA, or its share of device memory."""

from __future__ import annotations

from typing import Any

import msgspec

from trnbench.emulator.assumed import Assumed
from trnbench.emulator.core.costs import CostTable
from trnbench.emulator.core.demand import of_recording, of_work
from trnbench.emulator.core.emulate import KernelResult, time_program
from trnbench.emulator.core.likeness import likeness
from trnbench.emulator.core.pace import Pace
from trnbench.emulator.core.program import QUEUES, Program
from trnbench.emulator.core.recorded import Recorder, Recording
from trnbench.generation import System
from trnbench.kernels.case import Case
from trnbench.results.measurement import Part

_HELD = {"peak_flops": "tensor", "hbm_bandwidth": "hbm", "dma_bandwidth": "dma"}


FORMULA = "roofline: max(engines + lead, DMA, device memory) + fill + launch"
"""Of the work that a kernel counts: an upper bound of performance, all that can overlap does."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """`parts` are what each cause would take alone; `bound` names the longest that overlaps."""

    time_s: float
    parts: tuple[Part, ...]
    bound: str
    implementation: str
    counters: dict[str, float]
    notes: tuple[str, ...]
    detail: dict[str, Any] = {}
    formula: str = ""  # where it was derived, not emulated: what was summed


class CoreModel:
    """Estimates cases of core, device and instance scope. Recordings and tables are kept."""

    def __init__(self, recorder: Recorder | None = None) -> None:
        self.recorder = recorder or Recorder()
        self._tables: dict[int, tuple[System, CostTable]] = {}
        self._timed: dict[Any, KernelResult] = {}
        self._alike: dict[int, tuple[Recording, bytes]] = {}

    def table(self, system: System) -> CostTable:
        found = self._tables.get(id(system))
        if found is None or found[0] is not system:
            found = self._tables[id(system)] = (system, CostTable(system))
        return found[1]

    def estimate(self, case: Case, system: System) -> Estimate:
        """Scheduled call by call; derived by `FORMULA` where the kernel declares no NKI source for the point.

        Raises `KernelError` for a source that cannot be recorded: no formula stands in for that.
        """
        table = self.table(system)
        recording = self.recorder.of(case, system)
        if recording is not None:
            return self._scheduled(case, recording, table)
        return self._derived(case, system, table)

    def _derived(self, case: Case, system: System, table: CostTable) -> Estimate:
        demand = of_work(case, table)
        extent = case.extent
        sharing = max(extent.cores // max(extent.devices, 1), 1)
        overlapping = dict(demand.engines)
        if demand.dma_s:
            overlapping["dma"] = demand.dma_s
        if demand.hbm_bytes:
            # All cores of the device at once: each has its share of the memory's rate.
            overlapping["hbm"] = demand.hbm_bytes * sharing / table.hbm_rate
        assumed = Assumed(system)
        ends = {
            name: seconds + (demand.lead_s if name in demand.engines else 0.0)
            for name, seconds in overlapping.items()
        }
        bound = max(ends, key=lambda name: (ends[name], name), default="launch")
        longest = ends.get(bound, 0.0)
        lead = demand.lead_s if bound in demand.engines else 0.0
        serial = {"fill": demand.fill_s + lead, "launch": table.launch_s}
        if max(serial.values()) > longest:
            bound = max(serial, key=lambda name: (serial[name], name))
        parts = {**overlapping, **{name: seconds for name, seconds in serial.items() if seconds}}
        return Estimate(
            time_s=longest + demand.fill_s + serial["launch"],
            parts=tuple(Part(name=name, seconds=seconds) for name, seconds in parts.items()),
            bound=bound,
            implementation=f"model: roofline {demand.how}",
            counters=dict(demand.counters),
            notes=(*demand.notes, *assumed.notes()),
            formula=_summed(case),
        )

    def _scheduled(self, case: Case, recording: Recording, table: CostTable) -> Estimate:
        sharing = max(case.extent.cores // max(case.extent.devices, 1), 1)
        program = recording.program
        # Systems with the same core take the same time, and so do data types of one size at one rate: it is
        # scheduled once for all of them.
        held, explain = held_by(case), case.explain
        key = (self._likeness(recording, program), held, explain, Pace(table, sharing=sharing).key(program))
        seen = self._timed.get(key)
        if seen is None:
            seen = self._timed[key] = time_program(
                program, table, sharing=sharing, pieces=recording.pieces, held=held, explain=explain
            )
        parts = {**seen.busy_s, "launch": seen.launch_s}
        demand = of_recording(recording, table)
        notes: tuple[str, ...] = (f"instructions {demand.how}",)
        if "pieces" in demand.how:
            notes = (*notes, "pieces beyond the scheduled ones at the pace of the last of their kind")
        return Estimate(
            time_s=seen.latency_s,
            parts=tuple(Part(name=name, seconds=seconds) for name, seconds in parts.items() if seconds),
            bound=seen.bound,
            implementation=f"nki: {recording.ref} ({recording.by})",
            counters=dict(demand.counters),
            notes=(*notes, *seen.notes),
            detail={
                **({"waterfall": [list(term) for term in seen.waterfall]} if explain else {}),
                "busy": {name: seconds for name, seconds in seen.busy_s.items() if seconds},
                "strip": seen.schedule.strip(),
            },
        )

    def _likeness(self, recording: Recording, program: Program) -> bytes:
        found = self._alike.get(id(recording))
        if found is None or found[0] is not recording:
            found = self._alike[id(recording)] = (recording, likeness(program, recording.pieces))
        return found[1]


def _summed(case: Case) -> str:
    """What `FORMULA` was given, and why a formula it is."""
    work = case.kernel.work(case.key.point, case.extent)
    counted = work.formula or ", ".join(work.as_counts())
    declared = "its NKI sources take no such point" if case.kernel.nki_sources else "it has no NKI source"
    return f"{counted}; {case.kernel.name} declares: {declared}"


def held_by(case: Case) -> str:
    """What of the core the documented figure of a case speaks of: where its waterfall starts."""
    primary = case.primary
    return primary.qualifier if primary.qualifier in QUEUES else _HELD.get(primary.peak, "")
