"""Every NKI source that it names loads, and every collective and model is one of the emulator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trnbench.errors import TrnbenchError
from trnbench.kernels.kernel import Kernel
from trnbench.testing.checks.references import SOURCES, Named, finding, implementation
from trnbench.testing.finding import Finding
from trnbench.testing.subject import Subject

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
    from trnbench_emulator.fabric.cases import KNOWN

    names: Mapping[str, tuple[str, ...]] = {"collective": KNOWN, "model": MODELS}
    for kind, ref in kernel.implementations.items():
        named = implementation(kernel, kind, ref)
        problem = ""
        if kind in SOURCES:
            problem = _unloaded(ref)
        elif kind in names:
            problem = "" if ref in names[kind] else f"it is not {_NAMES[kind]}: {', '.join(names[kind])}"
        else:
            continue
        yield f"{named.object} {named.field}"
        if problem:
            yield finding(subject, named, problem)


def _unloaded(ref: Any) -> str:
    """ "" or why the kernel cannot be loaded."""
    from trnbench_emulator.nki import load_kernel

    try:
        load_kernel(str(ref).replace("::", ":", 1), nki="trnbench")
    except TrnbenchError as error:
        return f"{error.what}: {error.cause}".rstrip(": ")
    return ""
