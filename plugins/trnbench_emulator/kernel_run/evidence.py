"""The nearest published evidence beside one kernel's emulation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from trnbench.case_key import CaseKey, Value
from trnbench.facts.fact import PeakPolicy
from trnbench.generation import System
from trnbench.kernels.kernel import Case, Kernel
from trnbench.registry import Registry
from trnbench.results.expectation import SHIPPED, above, least_time
from trnbench.results.measurement import Grade, Metric
from trnbench.run.expectation import Expectations
from trnbench.run.judge import Judge
from trnbench_emulator import nki_sources
from trnbench_emulator.backend import KernelQuestion
from trnbench_emulator.kernel_run.extent import extent_of
from trnbench_emulator.kernel_run.result import KernelRun
from trnbench_emulator.nki.dtype import dtype_of


def beside_benchmark(
    run: KernelRun, expected: Expectations, kernel: Kernel, point: Mapping[str, Value], system: System
) -> KernelRun:
    """Of an installed kernel at a point of its axes: what a case of it says."""
    extent = extent_of(system, "core", 1)
    extent = replace(
        extent, scope=run.scope, cores=run.cores, devices=max(1, run.cores // system.cores_per_device)
    )
    key = CaseKey(
        kernel=kernel.name,
        family=kernel.family,
        instance=system.name,
        generation=system.generation.name,
        scope=run.scope,
        point=dict(point),
    )
    case = Case(key=key, kernel=kernel, extent=extent)
    one = kernel.work(point, replace(extent, cores=1))
    shared = one.flops > 0 and round(run.flops / one.flops) == 1  # by all programs, not one for each core
    counts = (one if shared else case.work).as_counts()
    judged = Judge(PeakPolicy.SEED).told(
        case, system, run.evidence, time_s=run.latency_s, samples=(), counts=counts, notes=()
    )
    run = replace(run, least_s=max(run.least_s, least_time(judged)))
    metric = judged.metrics[judged.primary]
    return _with(run, expected, case, system, metric)


def beside_kernel(
    run: KernelRun,
    expected: Expectations,
    registry: Registry,
    kernel: Any,
    args: Mapping[str, Any],
    system: System,
) -> KernelRun:
    """The run of somebody's kernel, a reference or a function, with the nearest published evidence.

    A published kernel is found by file and function. A kernel that an installed benchmark is written by has
    that one's operation. Others have their family alone.
    """
    source = kernel if isinstance(kernel, str) else _source_of(kernel)
    plain = source.replace("::", ":")
    operation = ""
    for installed in registry.kernels.values():
        published = installed.published  # asked first: sources are put together for each kernel
        if published is not None and published.group == "core" and plain in nki_sources(installed):
            operation = published.operation({})
    question = KernelQuestion(source=source, dtype=_dtype(args), operation=operation)
    metric = None
    if run.flops:
        metric = Metric(
            name="flops_per_s",
            value=run.flops / run.latency_s,
            unit="FLOP/s",
            better="higher",
            scope=run.scope,
        )
    return _with(run, expected, question, system, metric)


def _with(
    run: KernelRun,
    expected: Expectations,
    question: Case | KernelQuestion,
    system: System,
    metric: Metric | None,
) -> KernelRun:
    evidence = run.evidence
    if evidence.grade is not Grade.EMULATED:
        return run
    nearest = expected.nearest(question, system, version=evidence.version, metric=metric)
    if nearest is None:
        return run
    if nearest.band is not None and not all(switch.on for switch in run.assumed):
        nearest = replace(nearest, note=SHIPPED)  # measured with every switch on
    remark = above(metric.value, metric, nearest.best) if metric is not None else ""
    note = "; ".join(filter(None, (evidence.note, remark)))
    return replace(run, evidence=replace(evidence, nearest=nearest, note=note))


def _source_of(kernel: Any) -> str:
    function = getattr(kernel, "function", kernel)
    code = getattr(function, "__code__", None)
    return f"{code.co_filename if code else ''}::{getattr(function, '__name__', '')}"


def _dtype(args: Mapping[str, Any]) -> str:
    """Of the first tensor, in the word of documents; "" where there is none."""
    for argument in args.values():
        if hasattr(argument, "dtype") and hasattr(argument, "shape"):
            return dtype_of(argument.dtype).word
    return ""
