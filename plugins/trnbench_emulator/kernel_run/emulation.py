"""From a kernel and a system to a `KernelRun`: what `emulate_kernel` and `trnbench nki run` share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from trnbench.bounded import kinds
from trnbench.errors import KernelError, UsageError, quoted
from trnbench.facts.fact import PeakPolicy
from trnbench.generation import System
from trnbench.kernels.work import Extent
from trnbench.peaks.shares import Share, best_of, bound_of, in_time, shares_of
from trnbench.results.measurement import Evidence, Grade, Part, waterfall_from_peak
from trnbench_emulator.backend import MODEL, MODEL_VERSION
from trnbench_emulator.compiler import AS_SHIPPED, Assumptions, check_meaningful
from trnbench_emulator.core.cases import line_seconds
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.recording import Launch, Recording
from trnbench_emulator.core.timing import KernelModel, Timing
from trnbench_emulator.kernel_run.extent import extent_of
from trnbench_emulator.kernel_run.result import KernelRun, Line, alternatives, assumed
from trnbench_emulator.nki import TensorSpec, load_kernel, provide
from trnbench_emulator.nki.beta1.grid import Beta1Kernel, Dimension, nc
from trnbench_emulator.nki.dtype import dtype_of
from trnbench_emulator.nki.jit import Kernel
from trnbench_emulator.nki.op import TENSOR
from trnbench_emulator.nki.recorder import DEFAULT_LIMIT
from trnbench_emulator.trace import Timeline
from trnbench_emulator.trace.launch import timeline_of

EXAMPLE = "--grid 2"


def parse_grid(text: str) -> tuple[int, ...]:
    """`2`; of Beta 1 also `4x2`, and `nc2x4` where the first dimension is spread over two cores (nl.nc).

    Raises `UsageError`.
    """
    sizes = []
    for part in text.lower().split("x"):
        size = kinds.PROGRAMS.parsed(part.removeprefix("nc"))
        if size is None:
            raise UsageError(
                f"--grid {quoted(text)} cannot be read",
                cause="a grid is a number of programs; of Beta 1 several, nc before those spread over cores",
                try_=f"{EXAMPLE}, --grid 4x2 or --grid nc2x4",
            )
        sizes.append(nc(int(size)) if part.startswith("nc") else int(size))
    return tuple(sizes)


def launched(kernel: Any, sizes: Sequence[int]) -> Any:
    """`kernel[sizes]`: for kernels of today one number, for those of Beta 1 any grid.

    Raises `UsageError` for several numbers where the kernel takes one, and for no program.
    """
    if isinstance(kernel, Beta1Kernel):
        return kernel[tuple(sizes)]
    function = getattr(kernel, "function", kernel)
    if len(sizes) != 1 or isinstance(sizes[0], Dimension):
        shown = "x".join(f"nc{size}" if isinstance(size, Dimension) else str(size) for size in sizes)
        raise UsageError(
            f"kernel {_name(kernel)!r} takes no grid {shown}",
            cause="today's NKI launches a number of programs, each on a core; Beta 1 has grids of several",
            try_=EXAMPLE,
        )
    if int(sizes[0]) < 1:
        raise UsageError(f"a grid of {sizes[0]} programs is none", cause="one is the least", try_=EXAMPLE)
    return Kernel(function, int(sizes[0]))


def programs_of(kernel: Any, system: System) -> int:
    """Cores that one launch of `kernel` takes: 1, those of a logical core, or those of a device.

    Raises `KernelError` where `system` has no place for as many.
    """
    count = int(getattr(kernel, "cores", 1))
    logical, device = min(system.logical_cores, system.cores_per_device), system.cores_per_device
    if count in (1, logical, device):
        return count
    both = f"the {logical} of a logical core, or the {device}" if logical > 1 else f"or the {device}"
    raise KernelError(
        f"kernel {_name(kernel)!r} is launched as {count:,} programs, for which {system.name} has no place",
        cause=f"all of them run at once, each on a core: 1, {both} of a device",
        try_=f"--grid {logical if logical > 1 else device}",
    )


def loaded(kernel: Any, nki: str) -> tuple[Any, str]:
    """The kernel and which nki it imports. Raises `UsageError` for one bound to the real package."""
    if not isinstance(kernel, str):
        with provide("trnbench") as by:
            return kernel, str(by)
    function, _, imported = load_kernel(kernel, nki=nki)
    if imported.by != "trnbench":
        raise UsageError(
            f"{kernel} imports the real nki package ({imported}), whose calls cannot be emulated",
            cause="that package is installed here, and goes before trnbench's own unless asked",
            try_="--nki trnbench (nki='trnbench' in Python)",
        )
    return function, str(imported)


def emulate(
    kernel: Any,
    args: Mapping[str, Any],
    system: System,
    *,
    cores: str,
    by: str,
    policy: PeakPolicy,
    limit: int | None = None,
    timeline: bool = False,
    assumptions: Assumptions = AS_SHIPPED,
    compare: bool = True,
    explain: bool = True,
    model: KernelModel | None = None,
) -> tuple[KernelRun, Timeline | None]:
    """`trnbench.emulate_kernel` with everything looked up; the timeline only where it is asked for. Without
    `explain` there are no waterfall, path and lines. `model`: one whose costs are loaded."""
    programs = programs_of(kernel, system)
    extent = extent_of(system, cores, programs)
    check_meaningful(assumptions, _name(kernel), beta1=isinstance(kernel, Beta1Kernel))
    arguments = {name: _shape(value) for name, value in args.items()}
    model = model or KernelModel()
    launch = Launch(
        programs=programs,
        cores=extent.cores_of_device,
        limit=limit or DEFAULT_LIMIT,
        assumptions=assumptions,
        explain=explain,
    )

    def recorded(launch: Launch) -> Recording:
        return model.recorder.of(kernel, arguments, model.machine(system), launch)

    recording = recorded(launch)
    if not recording.calls:
        raise KernelError(
            f"kernel {_name(kernel)!r} issues no instruction",
            cause="there is nothing whose time could be told",
            try_="nl.load, nl.store and nisa calls inside the kernel",
        )
    shares = list(shares_of(system, extent, policy, recording.loads(extent.cores)))
    closest = best_of(shares)
    timing = model.timing(recording, system, replace(launch, held=closest.part if closest else ""))
    run = _kernel_run(recording, timing, shares, model.table(system), extent, system)
    run = replace(run, kernel=_name(kernel), nki=by, assumed=assumed(assumptions, _switches(recording)))

    def otherwise(under: Assumptions) -> float:
        toggled = replace(launch, assumptions=under, explain=False)
        return model.timing(recorded(toggled), system, toggled).latency_s

    if compare:
        names = [switch.name for switch in run.assumed]
        others, reason = alternatives(timing.latency_s, recording.calls, assumptions, names, otherwise)
        run = replace(run, alternatives=others, not_compared=reason)
    if not timeline:
        return run, None
    core_name = f"{system.name} {system.instance.core} core"
    return run, timeline_of(timing.scheduled, core_name, cores=extent.cores, launch=timing.launch)


def _switches(recording: Recording) -> Counter[str]:
    """How often the compiler was taken to do what, in all programs."""
    used = Counter[str]()
    for program in recording.programs:
        used.update(program.assumed)
    return used


def _kernel_run(
    recording: Recording,
    timing: Timing,
    shares: Sequence[Share],
    table: CostTable,
    extent: Extent,
    system: System,
) -> KernelRun:
    """What was recorded and timed, of a kernel without a name. `shares`: of a second."""
    closest, several = best_of(shares), len(recording.programs) > 1
    explained, waterfall = bool(timing.waterfall), timing.waterfall
    reached = in_time(shares, timing.latency_s)
    if explained and closest is not None:
        waterfall = waterfall_from_peak(waterfall, closest.fraction, name=f"the {closest.what} peak")
    return KernelRun(
        kernel="",
        nki="",
        system=system.name,
        generation=system.generation.name,
        scope=extent.scope,
        cores=extent.cores,
        evidence=Evidence(grade=Grade.EMULATED, by=MODEL, version=MODEL_VERSION),
        latency_s=timing.latency_s,
        bound=timing.bound,
        instructions=recording.calls,
        flops=sum(float(count) for (engine, _), count in recording.work().items() if engine == TENSOR),
        busy_s=dict(timing.busy_s),
        bytes={name: float(amount) for name, amount in sorted(timing.bytes.items())},
        shares=reached,
        waterfall=tuple(Part(name=name, seconds=seconds) for name, seconds in waterfall),
        path=tuple(Part(name=name, seconds=seconds) for name, seconds in (timing.path if explained else ())),
        lines=_lines(timing, table) if explained else (),
        notes=timing.notes,
        programs=timing.programs if several else (),
        last=timing.last,
        imbalance=timing.imbalance if several else 0.0,
        least_s=bound_of(reached, timing.latency_s),
    )


def _lines(timing: Timing, table: CostTable) -> tuple[Line, ...]:
    """The lines of the program that ends last, by the time of their engines and of the DMA engines, the
    longest first.
    """
    spent = line_seconds(timing, table)
    program = timing.schedule.program
    engines: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)  # how many instructions each got
    for (op, place), count in Counter(zip(program.op, program.place, strict=True)).items():
        engines[program.places[place]][program.ops[op].engine] += count
    return tuple(
        Line(
            file=line[0],
            line=line[1],
            seconds=seconds,
            instructions=engines[line].total(),
            engine=engines[line].most_common(1)[0][0],
        )
        for line, seconds in sorted(spent.items(), key=lambda each: (-each[1], each[0]))
    )


def _name(kernel: Any) -> str:
    function = getattr(kernel, "function", kernel)
    return str(getattr(function, "__name__", type(function).__name__))


def _shape(value: Any) -> Any:
    """Arrays to their shapes: timing needs no values."""
    if isinstance(value, np.ndarray):
        return TensorSpec(value.shape or (1,), dtype_of(value.dtype).name)
    return value
