"""From a kernel and a system to a `KernelRun`: what `emulate_kernel` and `trnbench nki run` share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trnbench.emulator.assumed import Assumed
from trnbench.errors import UsageError
from trnbench.facts.peak import PeakPolicy
from trnbench.generation import System
from trnbench.nki import Machine, load_kernel, provide, record
from trnbench.nki.recorder import DEFAULT_LIMIT
from trnbench.results.evidence import Evidence, Grade
from trnbench.results.measurement import Part
from trnbench.run.counting import Counts
from trnbench.run.kernel import KernelRun, Line, Share
from trnbench.run.shares import extent_of, shares_of

if TYPE_CHECKING:
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
    timeline: bool = False,
) -> tuple[KernelRun, Timeline | None]:
    """`trnbench.emulate_kernel` with everything looked up; the timeline only where it is asked for."""
    from trnbench.emulator.core.costs import CostTable
    from trnbench.emulator.core.demand import of_recording
    from trnbench.emulator.core.recorded import Recording
    from trnbench.emulator.core.roofline import LAUNCH

    extent = extent_of(system, cores)
    counts = Counts()
    with provide("trnbench"):
        trace = record(
            kernel,
            (),
            {name: _shape(each) for name, each in args.items()},
            machine=Machine.of(system),
            sink=counts,
            limit=limit or DEFAULT_LIMIT,
        )
    table = CostTable(system)
    demand = of_recording(Recording(counts.tally, trace.count, "recorded call by call", by), table)
    assumed = Assumed(system)
    busy = dict(demand.engines)
    if demand.dma_s:
        busy["dma"] = demand.dma_s
    if demand.hbm_bytes:
        busy["hbm"] = demand.hbm_bytes * max(extent.cores // extent.devices, 1) / table.hbm_rate
    launch = assumed.value(LAUNCH)
    bound = max(busy, key=lambda name: (busy[name], name), default="launch")
    latency = busy.get(bound, 0.0) + demand.fill_s + launch
    shares = tuple(
        Share(what=what, value=value, unit=unit, choice=choice)
        for what, value, unit, choice in shares_of(
            system,
            extent,
            policy,
            flops=counts.flops(),
            elements=counts.elements(),
            moved=counts.moved(),
            dma_bytes=counts.dma_bytes(),
            latency_s=latency,
        )
    )
    lines: dict[tuple[str, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    issued: Counter[tuple[str, int]] = Counter()
    for (op, file, line), count in counts.at.items():
        lines[file, line][op.engine] += table.seconds(op) * count
        issued[file, line] += count
    run = KernelRun(
        kernel=trace.kernel,
        nki=by,
        system=system.name,
        generation=system.generation.name,
        scope=extent.scope,
        cores=extent.cores,
        evidence=Evidence(grade=Grade.EMULATED, by="trnbench roofline + flows", version="2"),
        latency_s=latency,
        bound=bound,
        instructions=trace.count,
        flops=sum(counts.flops().values()),
        busy_s=busy,
        bytes=counts.moved(),
        shares=shares,
        waterfall=(
            Part(name=bound, seconds=busy.get(bound, 0.0)),
            Part(name="fill", seconds=demand.fill_s),
            Part(name="launch", seconds=launch),
        ),
        lines=tuple(
            Line(
                file=file,
                line=line,
                seconds=sum(spent.values()),
                instructions=issued[file, line],
                engine=max(spent, key=lambda name, spent=spent: (spent[name], name)),
            )
            for (file, line), spent in sorted(lines.items(), key=lambda each: -sum(each[1].values()))
        ),
        notes=assumed.notes(),
    )
    return run, None


def _shape(value: Any) -> Any:
    """Arrays to their shapes: timing needs no values."""
    import numpy as np

    from trnbench.nki import TensorSpec
    from trnbench.nki.dtype import dtype_of

    if isinstance(value, np.ndarray):
        return TensorSpec(value.shape or (1,), dtype_of(value.dtype).name)
    return value
