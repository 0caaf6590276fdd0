"""What its kernels compute is what their references compute: one small case for each data type."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from msgspec.structs import replace

from trnbench.errors import KernelError, NothingSelected, TrnbenchError
from trnbench.generation import System
from trnbench.isolation.interrupt import CaseTimeout, can_limit, limited
from trnbench.kernels.kernel import Case, Kernel
from trnbench.kernels.work import Spread
from trnbench.reference import resolve
from trnbench.run.plan import plan
from trnbench.run.selection import Selection
from trnbench.testing import Finding, Subject
from trnbench.testing.checks.code import Named, finding, implementation
from trnbench_emulator import NKI, SOURCES, nki_sources
from trnbench_emulator.fabric.cases import KNOWN
from trnbench_emulator.nki import Machine, load_kernel, provide, record
from trnbench_emulator.nki.agreement import Agreement, call, compare
from trnbench_emulator.nki.jit import Kernel as NkiKernel
from trnbench_emulator.nki.problem import Source as Problem
from trnbench_emulator.nki.problem import fill, operations, seed_of, smaller
from trnbench_emulator.nki.recorder import TooManyInstructions
from trnbench_emulator.nki.source import Source, Sources

MODELS = ("roofline",)
_NAMES = {"collective": "a collective of the emulator", "model": "a model of the emulator"}


def sources(subject: Subject) -> Iterator[Finding | str]:
    """Implementations of its kernels, and the variants that it adds to those of others."""
    for kernel in subject.kernels:
        yield from _implementations(subject, kernel)
    for variant in subject.of_kind("variant"):
        if variant.kind in SOURCES:
            named = Named("trnbench_kernels", f"Variant {variant.name!r}", "source", variant.source)
            yield f"{named.object} {named.field}"
            if problem := _unloaded(variant.source):
                yield finding(subject, named, problem)


def _implementations(subject: Subject, kernel: Kernel) -> Iterator[Finding | str]:

    names: Mapping[str, tuple[str, ...]] = {"collective": KNOWN, "model": MODELS}
    for kind, ref in kernel.implementations.items():
        named = implementation(kernel, kind, ref)
        problem = ""
        if kind in SOURCES:
            problem = _unloaded(ref)
        elif kind == "model" and ":" in str(ref):
            problem = _unresolved(ref)
        elif kind in names:
            problem = "" if ref in names[kind] else f"it is not {_NAMES[kind]}: {', '.join(names[kind])}"
        else:
            continue
        yield f"{named.object} {named.field}"
        if problem:
            yield finding(subject, named, problem)


def _unloaded(ref: Any) -> str:
    """ "" or why the kernel cannot be loaded."""
    try:
        load_kernel(str(ref).replace("::", ":", 1), nki="trnbench")
    except TrnbenchError as error:
        return error.sentence
    return ""


def _unresolved(ref: Any) -> str:
    """ "" or why what answers for the kernel is none."""
    try:
        return "" if callable(getattr(resolve(ref), "observe", None)) else "it has no observe(case, system)"
    except TrnbenchError as error:
        return error.sentence


def sourced(subject: Subject) -> Iterator[tuple[Case, System]]:
    """On every system whose instructions have costs; none where no kernel has a source."""
    names = tuple(kernel.name for kernel in subject.kernels if nki_sources(kernel))
    added = {variant.kernel for variant in subject.of_kind("variant") if variant.kind in NKI}
    names += tuple(name for name in subject.varied if name in added & subject.registry.kernels.keys())
    if not names:
        return
    try:
        planned = plan(subject.registry, Selection(kernels=names))
    except NothingSelected:
        return
    for case in planned.cases:
        system = planned.systems[case.key.instance]
        if not case.skip and system.costs:
            yield case, system


LIMIT = 200_000
"""Instructions with values, of one case: a few seconds. A kernel that needs more is not compared."""

LIMIT_S = 120.0
"""For one case, of which others take a few seconds: a kernel that never ends is a finding."""

ENOUGH = 1e8
"""Operations and bytes of a case: its numbers are halved down to that, where it remains a case."""


def values(subject: Subject) -> Iterator[Finding | str]:
    """Each NKI source executed with NumPy values, against `fn_reference` where it has one."""
    sources = Sources()
    reported: set[str] = set()
    asked: dict[str, bool] = {}  # kernel → whether a source takes one of its cases
    varied = subject.varied
    for case, system in _samples(subject):
        about = f"kernel {case.kernel.name}[{_shown(case)}]"
        yield about
        try:
            source = sources.taking(nki_sources(case.kernel), case.key.point)
            asked[case.kernel.name] = asked.get(case.kernel.name, False) or source is not None
            if source is None:
                continue  # declared: a formula stands in, and says so
            if source.ref not in varied.get(case.kernel.name, (source.ref,)):
                continue  # another plugin's source of a kernel that this one adds to
            reference = source.reference()
        except TrnbenchError as error:
            yield _problem(about, error)
            continue
        if reference is None and source.ref not in reported:
            reported.add(source.ref)
            yield _unknown(case, source)
        yield from _compared(about, case, system, source, reference)
    for name in (name for name, used in asked.items() if not used):
        yield Finding(
            f"kernel {name}",
            "not compared: its NKI sources take none of the cases tried, so that every time is derived",
            "return the arguments from fn_inputs; None declares that a point is not taken",
            warning=True,
        )


def _samples(subject: Subject) -> Iterator[tuple[Case, System]]:
    """For each kernel, source of NKI and data type, the runnable case with the least work on one core."""
    least: dict[tuple[str, str, str], tuple[Case, System]] = {}
    for case, system in sourced(subject):
        # One instruction is one kernel: `op` tells them apart.
        key = (case.key.kernel, case.key.dtype, str(case.key.point.get("op", "")))
        if key not in least or operations(case) < operations(least[key][0]):
            least[key] = case, system
    for case, system in least.values():
        yield _smaller(case), system


def _smaller(case: Case) -> Case:

    while operations(case) > ENOUGH and (point := smaller(case.kernel, case.key.point)) is not None:
        if case.kernel.requires(point) != case.kernel.requires(case.key.point):
            break
        case = replace(case, key=replace(case.key, point=point))
    return case


def _compared(about: str, case: Case, system: System, source: Source, reference: Any) -> Iterator[Finding]:

    try:
        with in_time():
            outcome = _outcome(case, system, source, reference)
    except TooManyInstructions:
        yield Finding(
            about,
            f"not compared: it has more than {LIMIT:,} instructions",
            "a smaller value on an axis, or trnbench nki check with smaller --arg",
            warning=True,
        )
        return
    except TrnbenchError as error:
        yield _problem(about, error, f"{source.ref} ({source.place}): ")
        return
    for comparison in outcome:
        if not comparison.ok:
            at = ", ".join(map(str, comparison.where))
            yield Finding(
                about,
                f"{source.ref} ({source.place}) computes something else than its reference: output "
                f"{comparison.output}, {comparison.wrong:,} of {comparison.elements:,} elements, "
                f"the worst at [{at}], off by {comparison.error:.3g} "
                f"where {comparison.tolerance * comparison.scale:.3g} is allowed",
                f"trnbench nki check {case.kernel.name} -i {system.name} --check reference {args_of(case)}",
            )


@contextmanager
def in_time() -> Iterator[None]:
    """A kernel of others works inside. Raises `KernelError` where it takes longer than `LIMIT_S`."""
    try:
        with limited(LIMIT_S if can_limit() else 0.0):
            yield
    except CaseTimeout:
        raise KernelError(
            f"it does not end within {LIMIT_S:g} s",
            cause="a loop of it has no end, or it waits",
            try_="a condition that ends its loops, or a smaller value on an axis",
        ) from None


def _outcome(case: Case, system: System, source: Source, reference: Any) -> Sequence[Agreement]:
    """Output by output; none where there is no reference. Raises what executing and comparing raise."""
    arguments = _arguments(case, source)
    kernel = source.kernel
    if case.kernel.spread is Spread.SHARED:
        kernel = NkiKernel(kernel.function, case.extent.cores)
    with provide("trnbench"), np.errstate(all="ignore"):
        trace = record(kernel, arguments, machine=Machine.of(system), functional=True, limit=LIMIT)
        if reference is None:
            return ()
        names = inspect.signature(getattr(kernel, "function", kernel)).parameters
        wanted = call(reference, f"{source.name}_reference", dict(zip(names, arguments, strict=True)))
    return compare(
        trace.outputs,
        [spec.dtype for spec in trace.output_specs],
        wanted,
        [spec[1] for spec in source.inputs if isinstance(spec, tuple)],
    )


def _arguments(case: Case, source: Source) -> list[Any]:
    """Random tensors as a device would be given them, other values as they are."""
    tensors = tuple(argument for argument in source.inputs if isinstance(argument, tuple))
    problem = Problem(ref=source.ref, module="", file="", function=source.name, inputs=tensors)
    drawn = iter(fill(problem, seed_of(case)))
    return [next(drawn) if isinstance(argument, tuple) else argument for argument in source.inputs]


def _unknown(case: Case, source: Source) -> Finding:
    return Finding(
        f"kernel {case.kernel.name}",
        f"not compared: {source.ref} ({source.place}) has no reference",
        f"def {source.name}_reference(...), in NumPy, beside the kernel",
        warning=True,
    )


def _problem(about: str, error: TrnbenchError, before: str = "") -> Finding:
    problem = "; ".join(filter(None, (f"{before}{error.what}", error.cause)))
    return Finding(about, problem, error.try_ or "correct that, then check again")


def _shown(case: Case) -> str:
    return ",".join(f"{name}={value}" for name, value in case.key.point.items())


def args_of(case: Case) -> str:
    return " ".join(f"--arg {name}={value}" for name, value in case.key.point.items())
