"""What it brings, emulated: nothing fails, nothing beats the clocks, and twice the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from trnbench.backend import Backend
from trnbench.errors import NothingSelected
from trnbench.facts.fact import Scope
from trnbench.kernels.kernel import Case
from trnbench.record import grouped
from trnbench.results.json import dumps_measurement
from trnbench.results.measurement import Measurement, Reason, Status
from trnbench.run.attempt import NEXT
from trnbench.run.execute import execute
from trnbench.run.plan import Plan, plan
from trnbench.run.selection import RunSettings, Selection
from trnbench.testing import Finding, Subject

EMULATOR = "emulated"
ROUNDING = 1e-9
"""A rate of exactly the bound may come out a last bit above it."""

LIMIT_S = 120.0
"""For one case, of which others take less than a second: a kernel that never ends is a finding."""

BEYOND = 1.0 + 1e-6
"""Counted work may differ from the formula by the rounding of floats, not by more."""


def emulation(subject: Subject) -> Iterator[Finding | str]:
    """Its instances under every kernel, its kernels on every instance: first and last case of each."""
    backend = subject.registry.backends.get(EMULATOR)
    if backend is None or not (subject.generations or subject.kernels):
        return
    cases = _sample(subject)
    if cases is None:
        return
    settings = RunSettings(timeout_s=LIMIT_S)  # each case in a process that a kernel may hang or end
    first = execute(cases, backend, subject.registry, settings).measurements
    yield from believable(first)
    if not any(each.reason is Reason.TIMEOUT for each in first):
        yield from _repeated(subject, backend, cases, first)


def believable(measurements: Sequence[Measurement]) -> Iterator[Finding | str]:
    """Emulated cases: none failed, none above the clocks, no formula that claims more than was recorded."""
    yield from _failed(measurements)
    for measurement in measurements:
        yield measurement.id
        yield from _judged(measurement)
        if measurement.status is not Status.SKIPPED:
            yield from _counted(measurement)


def _sample(subject: Subject) -> Plan | None:
    wanted: list[Selection] = []
    systems = tuple(system.name for system in subject.systems)
    if systems:
        wanted.append(Selection(instances=systems))
    if subject.kernels:
        wanted.append(Selection(kernels=tuple(kernel.name for kernel in subject.kernels)))
    plans = []
    for selection in wanted:
        try:
            plans.append(plan(subject.registry, selection))
        except NothingSelected:
            continue
    if not plans:
        return None
    chosen: dict[str, Case] = {}
    for planned in plans:
        runnable = (case for case in planned.cases if not case.skip)
        groups = grouped(runnable, lambda case: (case.key.instance, case.key.kernel, case.key.scope))
        for members in groups.values():
            for case in (members[0], members[-1]):
                chosen[case.id] = case
    merged = {name: system for planned in plans for name, system in planned.systems.items()}
    return replace(plans[0], cases=tuple(chosen.values()), systems=merged)


def _failed(measurements: Sequence[Measurement]) -> Iterator[Finding]:
    """One finding for all cases of a kernel that fail alike."""
    failed = (each for each in measurements if each.status is Status.FAILED)
    alike = grouped(failed, lambda each: (each.case.kernel, each.reason_text.partition(NEXT)[0]))
    for (kernel, reason), failures in alike.items():
        first = failures[0]
        more = f" ({len(failures)} cases)" if len(failures) > 1 else ""
        yield Finding(
            first.id,
            f"failed ({first.reason}): {reason}{more}",
            first.reason_text.partition(NEXT)[2]
            or f"TRNBENCH_DEBUG=1 trnbench run {kernel} -i {first.case.instance}",
        )


def _judged(measurement: Measurement) -> Iterator[Finding]:
    judged = measurement.judgement
    bound = judged.of_engine_bound if judged else None
    if bound is not None and bound > 1.0 + ROUNDING:
        yield Finding(
            measurement.id,
            f"is emulated at {bound:.4f} of what the clocks allow",
            "check clocks, array size and cost tables, and the kernel's formula",
        )
    elif measurement.status is Status.SUSPECT:
        yield Finding(measurement.id, f"is suspect: {measurement.reason_text}", "read the causes it lists")


def _counted(measurement: Measurement) -> Iterator[Finding]:
    """The formula against what was counted call by call, where the kernel was recorded.

    At core scope alone: at larger ones the formula counts all cores, a recording one.
    """
    counters = measurement.counters
    if measurement.case.scope is not Scope.CORE or not counters.get("recorded_calls"):
        return
    for counter, entry, label in (
        ("tensor_flops", "flops", "FLOP"),
        ("hbm_bytes", "hbm_bytes", "bytes of HBM"),
    ):
        formula, counted = measurement.work.get(entry, 0.0), counters.get(counter)
        if counted is not None and formula > counted * BEYOND:
            yield Finding(
                measurement.id,
                f"its formula claims {formula:,.0f} {label}, the recorded kernel does {counted:,.0f}",
                "correct Kernel.work: it counts what the kernel does, and no more",
            )


def _repeated(
    subject: Subject, backend: Backend, cases: Plan, first: tuple[Measurement, ...]
) -> Iterator[Finding]:
    second = execute(cases, backend, subject.registry).measurements
    for before, after in zip(first, second, strict=True):
        if dumps_measurement(before) != dumps_measurement(after):
            differing = [
                name
                for name in Measurement.__struct_fields__
                if getattr(before, name) != getattr(after, name)
            ]
            yield Finding(
                before.id,
                f"is another result the second time: {', '.join(differing) or 'order of keys'}",
                "use no clock, no random number and no set order in formulas, costs and builders",
            )
