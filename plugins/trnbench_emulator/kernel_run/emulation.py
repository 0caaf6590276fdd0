"""From a kernel and a system to a `KernelRun`: what `emulate_kernel` and `trnbench nki run` share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trnbench.errors import KernelError, UsageError
from trnbench.facts.peak import PeakPolicy
from trnbench.generation import System
from trnbench.results.evidence import Evidence, Grade
from trnbench.results.measurement import Part
from trnbench.results.waterfall import from_peak
from trnbench_emulator.compiler import AS_SHIPPED, Assumptions, check_meaningful
from trnbench_emulator.core.program import Program
from trnbench_emulator.kernel_run.alternatives import alternatives, assumed
from trnbench_emulator.kernel_run.grid import programs_of
from trnbench_emulator.kernel_run.result import KernelRun, Line, Share, best_of
from trnbench_emulator.kernel_run.shares import extent_of, shares_of
from trnbench_emulator.nki import load_kernel, provide
from trnbench_emulator.nki.beta1.grid import Beta1Kernel
from trnbench_emulator.nki.op import DMA, TENSOR, Op
from trnbench_emulator.nki.recorder import DEFAULT_LIMIT

if TYPE_CHECKING:
    from trnbench_emulator.core.costs import CostTable
    from trnbench_emulator.core.recording import Recording
    from trnbench_emulator.core.timing import Timing
    from trnbench_emulator.trace import Timeline


def loaded(kernel: Any, nki: str) -> tuple[Any, str]:
    """The kernel and which nki it imports. Raises `UsageError` for one bound to the real package."""
    if not isinstance(kernel, str):
        return kernel, str(_ours())
    function, _, by = load_kernel(kernel, nki=nki)
    if by.by != "trnbench":
        raise UsageError(
            f"{kernel} imports the real nki package ({by}), whose calls cannot be emulated",
            cause="that package is installed here, and goes before trnbench's own unless asked",
            try_="--nki trnbench (nki='trnbench' in Python)",
        )
    return function, str(by)


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
    from trnbench_emulator.backend import MODEL, MODEL_VERSION
    from trnbench_emulator.core.launch import Launch
    from trnbench_emulator.core.model import KernelModel

    programs = programs_of(kernel, system)
    extent = extent_of(system, cores, programs)
    check_meaningful(assumptions, _name(kernel), beta1=isinstance(kernel, Beta1Kernel))
    given = {name: _shape(each) for name, each in args.items()}
    model = KernelModel()
    launch = Launch(
        programs=programs,
        cores=extent.cores_of_device,
        limit=limit or DEFAULT_LIMIT,
        fold=fold,
        assumptions=assumptions,
    )

    def recorded(launch: Launch) -> Recording:
        return model.recorder.of(kernel, given, model.machine(system), launch)

    recording = recorded(launch)
    if not recording.calls:
        raise KernelError(
            f"kernel {_name(kernel)!r} issues no instruction",
            cause="there is nothing whose time could be told",
            try_="nl.load, nl.store and nisa calls inside the kernel",
        )
    counts = Counts(*recording.programs)
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
    timing = model.timing(recording, system, replace(launch, held=closest.part if closest else ""))

    def otherwise(under: Assumptions) -> float:
        other = replace(launch, assumptions=under, explain=False)
        return model.timing(recorded(other), system, other).latency_s

    used = Counter[str]()
    for program in recording.programs:
        used.update(program.assumed)
    met = assumed(assumptions, used)
    others, not_compared = (
        alternatives(timing.latency_s, recording.calls, assumptions, [each.name for each in met], otherwise)
        if compare
        else ((), "")
    )
    waterfall = timing.waterfall
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
        latency_s=timing.latency_s,
        bound=timing.bound,
        instructions=recording.calls,
        flops=sum(flops.values()),
        busy_s=dict(timing.busy_s),
        bytes={name: float(amount) for name, amount in sorted(timing.bytes.items())},
        shares=tuple(replace(each, value=each.value / timing.latency_s) for each in a_second),
        waterfall=tuple(Part(name=name, seconds=seconds) for name, seconds in waterfall),
        path=tuple(Part(name=name, seconds=seconds) for name, seconds in timing.path),
        lines=_lines(timing, model.table(system)),
        notes=timing.notes,
        programs=timing.programs if programs > 1 else (),
        last=timing.last,
        imbalance=timing.imbalance if programs > 1 else 0.0,
        assumed=met,
        alternatives=others,
        not_compared=not_compared,
    )
    if not timeline:
        return run, None
    from trnbench_emulator.trace.of_launch import timeline_of

    where = f"{system.name} {system.instance.core} core"
    return run, timeline_of(timing.scheduled, where, cores=extent.cores, launch=timing.launch)


def _mean(counts: Mapping[str, float], programs: int) -> dict[str, float]:
    """Of one core, on average."""
    return {name: count / programs for name, count in counts.items()}


def _lines(timing: Timing, table: CostTable) -> tuple[Line, ...]:
    """Of the program that ends last: of every line the time of its engines, and of the DMA engines where it
    moves data; what takes longest comes first."""
    from trnbench_emulator.core.line_profile import line_seconds

    spent = line_seconds(timing, table)
    issued = Counts(timing.schedule.program).lines()
    return tuple(
        Line(file=place[0], line=place[1], seconds=seconds, instructions=count, engine=engine)
        for place, seconds in sorted(spent.items(), key=lambda each: (-each[1], each[0]))
        for count, engine in (issued[place],)
    )


def _name(kernel: Any) -> str:
    function = getattr(kernel, "function", kernel)
    return str(getattr(function, "__name__", type(function).__name__))


def _shape(value: Any) -> Any:
    """Arrays to their shapes: timing needs no values."""
    import numpy as np

    from trnbench_emulator.nki import TensorSpec
    from trnbench_emulator.nki.dtype import dtype_of

    if isinstance(value, np.ndarray):
        return TensorSpec(value.shape or (1,), dtype_of(value.dtype).name)
    return value


class Counts:
    """How often each op ran at each line: memory grows with the source, not with the loops."""

    def __init__(self, *programs: Program) -> None:
        self.at: Counter[tuple[Op, str, int]] = Counter()
        for program in programs:
            pairs = Counter(zip(program.op, program.place, strict=True))
            for (op, place), count in pairs.items():
                self.at[(program.ops[op], *program.places[place])] += count

    def lines(self) -> dict[tuple[str, int], tuple[int, str]]:
        """(instructions, engine that got most of them) of every line."""
        found: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
        for (op, file, line), count in self.at.items():
            found[file, line][op.engine] += count
        return {place: (each.total(), each.most_common(1)[0][0]) for place, each in found.items()}

    def flops(self) -> dict[str, float]:
        """Of the tensor engine, by data type."""
        found: dict[str, float] = defaultdict(float)
        for (op, _, _), count in self.at.items():
            if op.engine == TENSOR and op.flops:
                found[op.dtype] += float(op.flops * count)
        return dict(found)

    def elements(self) -> dict[str, float]:
        """Element operations of the other engines."""
        found: dict[str, float] = defaultdict(float)
        for (op, _, _), count in self.at.items():
            if op.engine not in (TENSOR, DMA) and op.elements:
                found[op.engine] += float(op.elements * count)
        return dict(found)

    def bytes(self) -> dict[str, float]:
        """Moved, by memory and direction."""
        found: dict[str, float] = defaultdict(float)
        for (op, _, _), count in self.at.items():
            for name, amount in op.traffic.items():
                found[name] += float(amount * count)
        return dict(found)

    def dma_bytes(self) -> float:
        """What the DMA engines carried."""
        return sum(
            float(op.variables.get("bytes", 0)) * count
            for (op, _, _), count in self.at.items()
            if op.engine == DMA
        )
