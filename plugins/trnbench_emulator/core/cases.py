"""Cases of benchmarks on the timed core: source, launch, estimate, and the lines that take the time."""

from __future__ import annotations

import linecache
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from trnbench.errors import KernelError, TrnbenchError
from trnbench.generation import System
from trnbench.kernels.kernel import Case
from trnbench.kernels.split import Split
from trnbench.kernels.work import Spread
from trnbench.results.measurement import Part
from trnbench_emulator import nki_sources
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.memo import Memo
from trnbench_emulator.core.program import QUEUES
from trnbench_emulator.core.recording import Launch, Recording
from trnbench_emulator.core.roofline import doubts_of, roofline
from trnbench_emulator.core.scheduler import STRIP_ROW, STRIP_ROWS, STRIP_SPANS, Schedule
from trnbench_emulator.core.timing import KernelModel, Timing
from trnbench_emulator.estimate import Estimate
from trnbench_emulator.nki import TensorSpec
from trnbench_emulator.nki.jit import Kernel
from trnbench_emulator.nki.op import DMA
from trnbench_emulator.nki.recorder import TooManyInstructions
from trnbench_emulator.nki.source import Inputs, Source, Sources

Place = tuple[str, int]

KEPT = 6
"""Lines of a case, of which each digit of a strip names one."""
LEAST = 0.005
"""Of the time: a line that takes less is left out."""
WIDEST = 80
"""Characters of a line's text."""
NONE = "-"


def line_seconds(timing: Timing, table: CostTable) -> dict[Place, float]:
    """Seconds of each line (file, number) of the program that ends last: its engines, and the DMA engines
    where it moves data: the engines' own time or that of their common way, whichever is busy longer in all.
    """
    program, transfers = timing.schedule.program, table.transfers
    ops, places = np.frombuffer(program.op, np.uint32), np.frombuffer(program.place, np.uint32)
    counts = np.bincount(ops, minlength=len(program.ops))
    costs = (
        np.array([of(op.variables) if op.engine == DMA else 0.0 for op in program.ops])
        for of in (transfers.share_s, transfers.path_s)
    )
    cost = max(costs, key=lambda each: float(each @ counts))
    moved = np.bincount(places, cost[ops], len(program.places)) if len(program) else ()
    return {
        line: seconds + more
        for (line, seconds), more in zip(timing.lines.items(), np.asarray(moved).tolist(), strict=True)
    }


def line_profile(timing: Timing, table: CostTable) -> dict[str, Any]:
    """The lines that take longest, and which line each engine was at when.

    `lines`: [place, its text, seconds], the longest first. `line_strip`: a string for each row of the
    strip, a character for each span: the number of the line that took most of it, "-" for another line or
    none.
    """
    factor = timing.total / timing.scheduled.total if timing.scheduled.total else 1.0
    spent = line_seconds(timing, table)
    ranked = sorted(spent, key=lambda place: (-spent[place], place))
    shown = [place for place in ranked[:KEPT] if spent[place] * factor >= LEAST * timing.latency_s]
    if not shown:
        return {}
    lines = [
        [f"{Path(file).name}:{line}", _text(file, line), spent[file, line] * factor] for file, line in shown
    ]
    return {"lines": lines, "line_strip": _strip(timing.schedule, shown)}


def _text(file: str, line: int) -> str:
    text = " ".join(linecache.getline(file, line).split())
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _strip(schedule: Schedule, kept: list[Place]) -> dict[str, str]:
    """An instruction counts where it begins; a span in which none does shows the one that went on."""
    program, beyond = schedule.program, len(kept)
    numbers = {source_line: number for number, source_line in enumerate(kept)}
    number = np.array([numbers.get(source_line, beyond) for source_line in program.places])
    row = np.array([STRIP_ROW[queue] for queue in program.queues])[np.frombuffer(program.op, np.uint32)]
    start = np.frombuffer(schedule.start, np.int64)
    took = np.frombuffer(schedule.issued, np.int64) - start
    shown = np.flatnonzero(took)
    span = np.minimum(start[shown] // max(-(-schedule.total // STRIP_SPANS), 1), STRIP_SPANS - 1)
    line = number[np.frombuffer(program.place, np.uint32)[shown]]
    cell = (row[shown] * STRIP_SPANS + span) * (beyond + 1) + line
    shape = len(STRIP_ROWS), STRIP_SPANS, beyond + 1
    spent = np.bincount(cell, took[shown], math.prod(shape)).reshape(shape)
    longest = np.where(spent.any(2), spent.argmax(2), -1).tolist()
    strips = {}
    for name, places in zip(STRIP_ROWS, longest, strict=True):
        if max(places) < 0:
            continue
        at = beyond
        shown_lines = [at := (source_line if source_line >= 0 else at) for source_line in places]
        strips[name] = "".join(
            str(source_line) if source_line < beyond else NONE for source_line in shown_lines
        )
    return strips


SHARES = 8
"""Kinds of shares that a sharded case names."""

CALL_LIMIT = 1_000_000
"""Calls of one case that are executed: some ten seconds, and 200 MB."""

_HELD = {"peak_flops": "tensor", "hbm_bandwidth": "hbm", "dma_bandwidth": "dma"}


class _Profile(NamedTuple):
    """Of a timing: what its lines took, and its counters."""

    lines: dict[str, Any]
    counters: dict[str, float]


class CaseModel:
    """Cases of core, device and instance scope; kernels are loaded once."""

    def __init__(self) -> None:
        self.kernels = KernelModel()
        self._sources = Sources()
        self._launched: dict[tuple[str, int], Kernel] = {}
        self._profiles: Memo[tuple[Timing, _Profile]] = Memo(lambda entry: entry[0].memory)

    def estimate(self, case: Case, system: System) -> Estimate:
        """Emulated; derived by a roofline where the kernel declares no NKI source for the point. Of a sharded
        case what a core with the largest share takes.

        Raises `KernelError` for a source that cannot be loaded, asked or recorded: no formula stands in for
        that.
        """
        split, case = case.split, case.share
        if split is not None:
            if split.refusal:
                raise KernelError(split.refusal, try_="--division replicated")
            estimate = self.estimate(case, system)
            return replace(estimate, **_of_shares(split, estimate))
        source = self.source(case)
        if source is not None:
            recording, launch = self._recorded(case, source, system)
            timing = self.kernels.known(recording, system, launch)
            estimate = _emulated(case, source, timing, self._profile(timing, self.kernels.table(system)))
            # Of this case: its time may be that of another data type.
            estimate = replace(estimate, loads=recording.loads(case.extent.cores))
            return replace(estimate, doubts=doubts_of(timing, system))
        if case.kernel.spread is Spread.SHARED:
            raise KernelError(
                f"{case.kernel.name} has no NKI source that takes {dict(case.key.point)}",
                cause="programs that share a problem are emulated call by call, not from a formula",
            )
        return roofline(case, self.kernels.table(system))

    def source(self, case: Case) -> Source | None:
        """None where the kernel declares no NKI source for the point."""
        try:
            return self._sources.taking(nki_sources(case.kernel), case.key.point)
        except TrnbenchError as error:
            message = f"the NKI source of {case.kernel.name} cannot be used: {error.what}"
            raise KernelError(message, cause=error.cause, try_=error.try_) from error

    def time(self, case: Case, source: Source, system: System) -> Timing:
        recording, launch = self._recorded(case, source, system)
        return self.kernels.known(recording, system, launch)

    def _recorded(self, case: Case, source: Source, system: System) -> tuple[Recording, Launch]:
        """Cases whose cores share one problem launch as many programs; others launch one on each core, of
        which one stands for all."""
        shared = case.kernel.spread is Spread.SHARED
        launch = Launch(
            programs=case.extent.cores if shared else 1,
            cores=case.extent.cores if shared else case.extent.cores_of_device,
            limit=CALL_LIMIT,
            held=held_by(case),
            explain=case.explain,
        )
        parts = () if shared else tuple((arguments_of(part), times) for part, times in source.pieces())
        kernel = self._of_programs(source, launch.programs) if shared else source.kernel
        try:
            machine = self.kernels.machine(system)
            recording = self.kernels.recorder.of(kernel, arguments_of(source.inputs), machine, launch, parts)
        except KernelError as error:
            raise _unrecorded(source, error) from error
        return recording, launch

    def _profile(self, timing: Timing, table: CostTable) -> _Profile:
        """Many cases have one timing."""
        key = (id(timing), id(table))
        cached = self._profiles.get(key)
        if cached is None or cached[0] is not timing:
            profile = _Profile(line_profile(timing, table), _counters(timing.recording))
            cached = self._profiles.keep(key, (timing, profile))
        return cached[1]

    def _of_programs(self, source: Source, count: int) -> Kernel:
        key = (source.ref, count)
        if key not in self._launched:
            self._launched[key] = Kernel(source.kernel.function, count)
        return self._launched[key]


def _of_shares(split: Split, estimate: Estimate) -> dict[str, Any]:
    """What a sharded case says beside the time of its largest share."""
    told = [[shard.cores, dict(shard.point)] for shard in split.shards[:SHARES]]
    note = f"sharded: {split.how}; the time of the largest share, operands in its own device's memory"
    fields = {"notes": (note, *estimate.notes), "detail": {**estimate.detail, "shares": told}}
    # Not all cores have as much to do as one with the largest share.
    return fields if len(split.shards) == 1 else {**fields, "loads": {}}


def _emulated(case: Case, source: Source, timing: Timing, profile: _Profile) -> Estimate:
    recording, count = timing.recording, len(timing.programs)
    implementation = f"nki: {source.ref} ({source.by})"
    notes: tuple[str, ...] = (f"instructions {recording.how}",)
    detail: dict[str, Any] = {
        **({"waterfall": [list(term) for term in timing.waterfall]} if case.explain else {}),
        "busy": {name: seconds for name, seconds in timing.busy_s.items() if seconds},
        "strip": timing.strip,
        **profile.lines,
    }
    if recording.pieces:
        notes = (*notes, "pieces beyond the scheduled ones at the pace of the last of their kind")
    if case.kernel.spread is Spread.SHARED:
        implementation += f", {count:,} programs"
        notes = (
            f"instructions {recording.how} in {count:,} programs, each on a core",
            f"the last program takes {timing.imbalance:.1%} longer than they do on average",
        )
        detail["programs"] = [[program.latency_s, program.waited_s] for program in timing.programs]
    parts = {**timing.busy_s, "launch": timing.launch_s}
    return Estimate(
        time_s=timing.latency_s,
        parts=tuple(Part(name=name, seconds=seconds) for name, seconds in parts.items() if seconds),
        bound=timing.bound,
        implementation=implementation,
        counters=profile.counters,
        notes=(*notes, *timing.notes),
        detail=detail,
    )


def _counters(recording: Recording) -> dict[str, float]:
    """Of all programs."""
    counters: dict[str, float] = {"tensor_flops": 0.0, "hbm_bytes": 0.0}
    for op, count in recording.tally.items():
        name = f"{op.engine}_instructions"
        counters[name] = counters.get(name, 0.0) + count
        counters["tensor_flops"] += float(op.flops * count)
        if op.engine == DMA:
            counters["hbm_bytes"] += float(op.hbm_bytes * count)
    counters["recorded_calls"] = float(recording.calls)
    return counters


def held_by(case: Case) -> str:
    """What of the core the documented figure of a case speaks of: where its waterfall starts."""
    primary = case.primary
    return primary.qualifier if primary.qualifier in QUEUES else _HELD.get(primary.peak, "")


def arguments_of(inputs: Inputs) -> tuple[Any, ...]:
    """(shape, dtype) stands for a tensor, also inside a tuple of several; other values are as they are."""
    return tuple(map(_argument, inputs))


def _argument(given: Any) -> Any:
    if not isinstance(given, tuple):
        return given
    if len(given) == 2 and isinstance(given[1], str):
        return TensorSpec(tuple(given[0]), given[1])
    return arguments_of(given)


def _unrecorded(source: Source, error: KernelError) -> KernelError:
    """`error` of a kernel that was being recorded, with the place of the kernel."""
    next_ = error.try_
    if isinstance(error, TooManyInstructions):
        next_ = f"check the loop's bounds, or cut the problem: def {source.name}_pieces(inputs)"
    message = f"{source.ref} ({source.place}) cannot be recorded: {error.what}"
    return KernelError(message, cause=error.cause, try_=next_)
