"""Emulated cases of stored runs, asked again: their timeline, their time at both ends of an assumption."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from trnbench import METRICS
from trnbench.errors import UnknownName, UsageError
from trnbench.extension import WORKLOAD_FAMILY, TraceFile
from trnbench.generation import System
from trnbench.kernels.kernel import Case
from trnbench.record import Record
from trnbench.registry import Registry
from trnbench.results.measurement import Grade, Measurement, stored_waterfall
from trnbench.run.extents import extent_of
from trnbench_emulator import ticks_up
from trnbench_emulator.backend import EmulatedBackend
from trnbench_emulator.compiler import assuming
from trnbench_emulator.core.cases import CaseModel
from trnbench_emulator.trace import Slice, Timeline, write_trace
from trnbench_emulator.trace.launch import timeline_of


def check_emulated(found: Measurement, cause: str) -> None:
    """Raises `UsageError` for a case that was not emulated, or has no time."""
    if found.evidence.grade is not Grade.EMULATED or found.time_s is None:
        raise UsageError(
            f"{found.id} was not emulated: it is {found.evidence.grade}, {found.status}",
            cause=cause,
            try_="trnbench runs show RUN --status ok",
        )


def case_again(found: Measurement, registry: Registry) -> tuple[Case, System]:
    """Raises `UnknownName` for a kernel or system that is not here any more."""
    key = found.case
    kernel = registry.kernels.get(key.kernel)
    if kernel is None:
        raise UnknownName("kernel", key.kernel, registry.kernels, try_="trnbench plugin list")
    system = registry.system(key.instance)
    return Case(key=key, kernel=kernel, extent=extent_of(kernel, system, key.scope, key.point)), system


TERMS = "its terms stand in a row: on links all steps are solved at once, so there are no moments"
STEP = "its parts stand in a row; trnbench workload run --trace FILE shows a layer operator by operator"


class CaseTrace(NamedTuple):
    """`time_s` as the model gives it now; the run's own may be of another model, fact or kernel."""

    timeline: Timeline
    time_s: float


def case_trace(found: Measurement, registry: Registry, about: Mapping[str, object], limit: int) -> TraceFile:
    """The timeline of a case for Perfetto, at most `limit` bytes, with the words `about` it in its head.

    Raises what `timeline` raises.
    """
    traced = timeline(found, registry)
    evidence = f"{found.evidence.grade} by {found.evidence.by} {found.evidence.version}".strip()
    file = write_trace(
        traced.timeline, evidence=evidence, about={**about, "latency_s": traced.time_s}, cap=limit
    )
    return TraceFile(data=file.data, slices=file.kept, time_s=traced.time_s, note=file.said)


def timeline(found: Measurement, registry: Registry) -> CaseTrace:
    """Of a case on cores its instructions, engine by engine; of one on links the terms of its time.

    Raises `UsageError` for a case that was not emulated, `UnknownName` for a kernel or system that is not
    here any more, `KernelError` for a kernel that cannot be recorded.
    """
    check_emulated(found, "a timeline follows from the model alone")

    key = found.case
    if key.family == WORKLOAD_FAMILY:
        return _of_links(found, STEP)
    case, system = case_again(found, registry)
    if "collective" in case.kernel.implementations or case.kernel.spread.linked:
        return _of_links(found)
    model, case = CaseModel(), case.share
    source = model.source(case)
    if source is None:
        return _of_links(found)

    timing = model.time(case, source, system)
    where = f"{system.name} {system.instance.core} core"
    drawn = timeline_of(timing.scheduled, where, cores=case.extent.cores, launch=timing.launch)
    return CaseTrace(drawn, timing.latency_s)


def _of_links(found: Measurement, missing: str = TERMS) -> CaseTrace:
    """One slice for each term of the stored time, one behind the other."""
    terms = stored_waterfall(found) or tuple((part.name, part.seconds) for part in found.parts)
    slices, start = [], 0
    for name, seconds in terms:
        duration = ticks_up(max(seconds, 0.0))
        slices.append(Slice(0, "time", name, start, duration, {"seconds": seconds}))
        start += duration
    drawn = Timeline(
        processes={0: f"{found.case.instance} {found.case.scope}"}, slices=slices, missing=missing
    )
    return CaseTrace(drawn, found.time_s or 0.0)


_NAMED = re.compile(r"assumed ([\w-]+): ")


class AssumptionEnd(Record, kw_only=True):
    """`name` at `value` in place of `taken`, base units of `unit`: seconds, and those over the usual ones."""

    name: str
    taken: float
    value: float
    unit: str
    time_s: float
    ratio: float
    reason: str


def assumption_ends(found: Measurement, registry: Registry) -> tuple[float, list[AssumptionEnd]]:
    """The time as the model gives it now, and at both ends of each assumption's range, the largest change
    first. Only assumptions that the case names count.

    Raises `UsageError` for a case that was not emulated or is a step of a model, `UnknownName` for a kernel
    or system that is not here any more, `KernelError` for a kernel that cannot be recorded.
    """
    check_emulated(found, "only a model has assumptions to move")
    if found.case.family == WORKLOAD_FAMILY:
        raise UsageError(
            f"{found.id} is a step of a model: its assumptions are those of its operators",
            try_=f"trnbench workload run {found.case.kernel} --help",
        )

    case, system = case_again(found, registry)
    usual, times = times_at_ends(case, system)
    ends = []
    for name, value, time_s in times:
        known = system.book.assumptions[name]
        ends.append(
            AssumptionEnd(
                name=name,
                taken=known.value,
                value=value,
                unit=METRICS[known.metric].unit,
                time_s=time_s,
                ratio=time_s / usual,
                reason=known.reason,
            )
        )
    return usual, sorted(ends, key=lambda each: (-abs(each.ratio - 1), each.name, each.value))


def times_at_ends(case: Case, system: System) -> tuple[float, list[tuple[str, float, float]]]:
    """Seconds of a case, and (assumption, its value, seconds) at both ends of each that the case names.

    Raises what the backend raises for a case that it cannot carry out.
    """
    short = replace(case, explain=False)
    backend = EmulatedBackend()
    observed = backend.observe(short, system)
    times = []
    for name in dict.fromkeys(name for note in observed.notes for name in _NAMED.findall(note)):
        known = system.book.assumptions[name]
        for value in dict.fromkeys((known.low, known.high)):
            if value != known.value:
                time_s = backend.observe(short, assuming(system, name, value)).time_s or 0.0
                times.append((name, value, time_s))
    return observed.time_s or 0.0, times
