"""NKI sources, collectives and models that a plugin names, and the runnable cases of its sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trnbench.errors import NothingSelected, TrnbenchError
from trnbench.generation import System
from trnbench.kernels.kernel import Case, Kernel
from trnbench.reference import resolve
from trnbench.run.plan import plan
from trnbench.run.selection import Selection
from trnbench.testing import Finding, Subject
from trnbench.testing.checks.code import Named, finding, implementation
from trnbench_emulator.fabric.cases import KNOWN
from trnbench_emulator.kinds import NKI, SOURCES, nki_sources
from trnbench_emulator.nki import load_kernel

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
        return f"{error.what}: {error.cause}".rstrip(": ")
    return ""


def _unresolved(ref: Any) -> str:
    """ "" or why what answers for the kernel is none."""
    try:
        return "" if callable(getattr(resolve(ref), "observe", None)) else "it has no observe(case, system)"
    except TrnbenchError as error:
        return f"{error.what}: {error.cause}".rstrip(": ")


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
