"""The timeline of one emulated case of a stored run, worked out again from its key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from trnbench.results.measurement import Measurement
from trnbench.results.waterfall import stored
from trnbench.trace import TraceFile
from trnbench.workload import FAMILY
from trnbench_emulator.stored.case import case_again, check_emulated

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench_emulator.trace import Timeline

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
    from trnbench_emulator.trace import write_trace

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
    from trnbench_emulator.core.cases import CaseModel

    key = found.case
    if key.family == FAMILY:
        return _of_links(found, STEP)
    case, system = case_again(found, registry)
    if "collective" in case.kernel.implementations or case.kernel.spread.linked:
        return _of_links(found)
    model = CaseModel()
    source = model.source(case)
    if source is None:
        return _of_links(found)
    from trnbench_emulator.trace.of_launch import timeline_of

    timing = model.time(case, source, system)
    where = f"{system.name} {system.instance.core} core"
    drawn = timeline_of(timing.scheduled, where, cores=case.extent.cores, launch=timing.launch)
    return CaseTrace(drawn, timing.latency_s)


def _of_links(found: Measurement, missing: str = TERMS) -> CaseTrace:
    """One slice for each term of the stored time, one behind the other."""
    from trnbench_emulator.clock import ticks_up
    from trnbench_emulator.trace import Slice, Timeline

    terms = stored(found) or tuple((part.name, part.seconds) for part in found.parts)
    slices, start = [], 0
    for name, seconds in terms:
        duration = ticks_up(max(seconds, 0.0))
        slices.append(Slice(0, "time", name, start, duration, {"seconds": seconds}))
        start += duration
    drawn = Timeline(
        processes={0: f"{found.case.instance} {found.case.scope}"}, slices=slices, missing=missing
    )
    return CaseTrace(drawn, found.time_s or 0.0)
