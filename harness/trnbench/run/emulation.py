"""From a kernel and a system to a `KernelRun`: what `emulate_kernel` and `trnbench nki run` share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from trnbench.compiler import AS_SHIPPED, Assumptions, check_meaningful
from trnbench.errors import KernelError, UsageError
from trnbench.facts.peak import PeakPolicy
from trnbench.generation import System
from trnbench.nki import Machine, load_kernel, provide
from trnbench.nki.beta1.grid import Beta1Kernel
from trnbench.nki.instruction import DMA
from trnbench.nki.recorder import DEFAULT_LIMIT
from trnbench.results.evidence import Evidence, Grade
from trnbench.results.measurement import Part
from trnbench.results.waterfall import from_peak
from trnbench.run.alternatives import alternatives, assumed
from trnbench.run.counting import Counts
from trnbench.run.grid import programs_of
from trnbench.run.kernel import KernelRun, Line, ProgramRun, Share, best_of
from trnbench.run.shares import extent_of, shares_of

if TYPE_CHECKING:
    from trnbench.emulator.core.emulate import KernelResult
    from trnbench.emulator.core.program import Program
    from trnbench.emulator.trace import Timeline


def loaded(kernel: Any, nki: str) -> tuple[Any, str]:
    """The kernel and which nki it imports. Raises `UsageError` for one bound to the real package."""
    if not isinstance(kernel, str):
        return kernel, str(_ours())
    found, _, by = load_kernel(kernel, nki=nki)
    if by.by != "trnbench":
        raise UsageError(
            f"{kernel} imports the real nki package ({by}), whose calls cannot be emulated",
            cause="that package is installed here, and goes before trnbench's own unless asked",
            try_="--nki trnbench (nki='trnbench' in Python)",
        )
    return found, str(by)


def _ours() -> object:
    with provide("trnbench") as by:
        return by


def emulate(
    kernel: Any,
    args: Mapping[str, Any],
    system: System,
    *,
    cores: str,
    by: str,
    policy: PeakPolicy,
    limit: int | None = None,
    fold: bool = True,
    timeline: bool = False,
    assumptions: Assumptions = AS_SHIPPED,
    compare: bool = True,
) -> tuple[KernelRun, Timeline | None]:
    """`trnbench.emulate_kernel` with everything looked up; the timeline only where it is asked for."""
    from trnbench.emulator.backend import MODEL, MODEL_VERSION
    from trnbench.emulator.core.costs import CostTable
    from trnbench.emulator.core.emulate import time_program
    from trnbench.emulator.core.grid import record_programs
    from trnbench.emulator.core.launched import LaunchResult, time_programs

    programs = programs_of(kernel, system)
    extent = extent_of(system, cores, programs)
    given = {name: _shape(each) for name, each in args.items()}
    busy = max(extent.cores // extent.devices, 1)
    check_meaningful(assumptions, _name(kernel), beta1=isinstance(kernel, Beta1Kernel))

    def recorded(under: Assumptions) -> tuple[Program, ...]:
        with provide("trnbench"):
            return record_programs(
                kernel,
                (),
                Machine.of(system),
                count=programs,
                kwargs=given,
                limit=limit or DEFAULT_LIMIT,
                fold=fold,
                assumptions=under,
            )

    made = recorded(assumptions)
    if not sum(map(len, made)):
        raise KernelError(
            f"kernel {_name(kernel)!r} issues no instruction",
            cause="there is nothing whose time could be told",
            try_="nl.load, nl.store and nisa calls inside the kernel",
        )
    counts = Counts(*made)
    flops = counts.flops()

    # Of one second: which peak it comes closest to does not depend on the time. There the waterfall begins.
    a_second = [
        Share(what=what, value=value, unit=unit, choice=choice)
        for what, value, unit, choice in shares_of(
            system,
            extent,
            policy,
            flops=_mean(flops, programs),
            elements=_mean(counts.elements(), programs),
            moved=_mean(counts.bytes(), programs),
            dma_bytes=counts.dma_bytes() / programs,
            latency_s=1.0,
        )
    ]
    closest = best_of(a_second)
    held = closest.part if closest else ""
    table = CostTable(system)

    def timed(launch: tuple[Program, ...], *, explain: bool = True) -> KernelResult:
        if programs == 1:
            return time_program(launch[0], table, sharing=busy, fold=fold, held=held, explain=explain)
        return time_programs(launch, table, cores=busy, fold=fold, held=held, explain=explain)

    result = timed(made)
    used = Counter[str]()
    for each in made:
        used.update(each.assumed)
    met = assumed(assumptions, used)
    others, not_compared = (
        alternatives(
            result.latency_s,
            sum(map(len, made)),
            assumptions,
            [each.name for each in met],
            lambda under: timed(recorded(under), explain=False).latency_s,
        )
        if compare
        else ((), "")
    )
    several = result if isinstance(result, LaunchResult) else None
    # Of the program that the lines are about.
    own = counts if several is None else Counts(result.schedule.program)
    issued = own.lines()
    lines = _seconds(result.lines, own, system)
    waterfall = result.waterfall
    if closest is not None:
        waterfall = from_peak(waterfall, closest.fraction, name=f"the {closest.what} peak")
    run = KernelRun(
        kernel=_name(kernel),
        nki=by,
        system=system.name,
        generation=system.generation.name,
        scope=extent.scope,
        cores=extent.cores,
        evidence=Evidence(grade=Grade.EMULATED, by=MODEL, version=MODEL_VERSION),
        latency_s=result.latency_s,
        bound=result.bound,
        instructions=sum(map(len, made)),
        flops=sum(flops.values()),
        busy_s=dict(result.busy_s),
        bytes={name: float(amount) for name, amount in sorted(result.bytes.items())},
        shares=tuple(msgspec.structs.replace(each, value=each.value / result.latency_s) for each in a_second),
        waterfall=tuple(Part(name=name, seconds=seconds) for name, seconds in waterfall),
        path=tuple(Part(name=name, seconds=seconds) for name, seconds in result.path),
        lines=tuple(
            Line(file=place[0], line=place[1], seconds=seconds, instructions=count, engine=engine)
            for place, seconds in sorted(lines.items(), key=lambda each: (-each[1], each[0]))
            for count, engine in (issued[place],)
        ),
        notes=result.notes,
        programs=tuple(ProgramRun(**msgspec.structs.asdict(each)) for each in several.programs)
        if several
        else (),
        last=several.last if several else 0,
        imbalance=several.imbalance if several else 0.0,
        assumed=met,
        alternatives=others,
        not_compared=not_compared,
    )
    if not timeline:
        return run, None
    from trnbench.emulator.core.pace import TICKS
    from trnbench.emulator.trace.of_launch import timeline_of_launch
    from trnbench.emulator.trace.of_schedule import timeline_of

    where = f"{system.name} {system.instance.core} core"
    launch = round(result.launch_s * TICKS)
    if several:
        return run, timeline_of_launch(several.together, where, cores=extent.cores, launch=launch)
    return run, timeline_of(result.schedule, f"{where} 0", cores=extent.cores, launch=launch)


def _mean(counts: Mapping[str, float], programs: int) -> dict[str, float]:
    """Of one core, on average."""
    return {name: count / programs for name, count in counts.items()}


def _seconds(
    spent: Mapping[tuple[str, int], float], counts: Counts, system: System
) -> dict[tuple[str, int], float]:
    """Of every line: of its engines, as `spent`, and of the DMA engines where it moves data."""
    from trnbench.emulator.core.costs import CostTable

    table = CostTable(system)
    moved: dict[tuple[str, int], float] = {}
    for (op, file, line), count in counts.at.items():
        if op.engine == DMA:
            moved[file, line] = moved.get((file, line), 0.0) + table.seconds(op) * count
    return {place: seconds + moved.get(place, 0.0) for place, seconds in spent.items()}


def _name(kernel: Any) -> str:
    function = getattr(kernel, "function", kernel)
    return str(getattr(function, "__name__", type(function).__name__))


def _shape(value: Any) -> Any:
    """Arrays to their shapes: timing needs no values."""
    import numpy as np

    from trnbench.nki import TensorSpec
    from trnbench.nki.dtype import dtype_of

    if isinstance(value, np.ndarray):
        return TensorSpec(value.shape or (1,), dtype_of(value.dtype).name)
    return value
