"""Every "package.module:attribute" that it names leads somewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from trnbench.errors import PluginError, TrnbenchError
from trnbench.kernels.kernel import BETA1_KIND, NKI_KINDS, Kernel
from trnbench.lazy import resolve
from trnbench.run.returned import detected
from trnbench.testing.finding import Finding
from trnbench.testing.subject import Subject

SOURCES = (*NKI_KINDS, BETA1_KIND)
"""Kinds whose module imports an `nki`, which its plugin has to provide."""

NAMES = ("collective", "model")
"""Kinds that name something of whoever carries them out."""

CODE = ("torch", "torch-distributed", "numpy", "c")


class Named(NamedTuple):
    """A reference, and who gives it: "Kernel 'gemm'", in which field, from which hook."""

    hook: str
    object: str
    field: str
    ref: Any


def references(subject: Subject) -> Iterator[Finding | str]:
    """Builders, identification, sections, formats, importers, and the implementations of every kind."""
    for each in (*_of_generations(subject), *_of_reports(subject), *_of_kernels(subject)):
        yield f"{each.object} {each.field}"
        if problem := _unresolved(each.ref):
            yield finding(subject, each, problem)
    for kernel in subject.kernels:
        yield from _implementations(subject, kernel)
    yield from _variants(subject)


def _of_generations(subject: Subject) -> Iterator[Named]:
    hook = "trnbench_generations"
    for generation in subject.generations:
        if generation.identify:
            yield Named(hook, f"Generation {generation.name!r}", "identify", generation.identify)
        for instance in generation.instances:
            yield Named(hook, f"Instance {instance.name!r}", "topology", instance.topology)


def _of_reports(subject: Subject) -> Iterator[Named]:
    for kind, hook, field in (
        ("section", "trnbench_reports", "render"),
        ("format", "trnbench_reports", "write"),
        ("importer", "trnbench_importers", "read"),
    ):
        for each in subject.of_kind(kind):
            yield Named(hook, f"{type(each).__name__} {each.name!r}", field, getattr(each, field))


def _of_kernels(subject: Subject) -> Iterator[Named]:
    for kernel in subject.kernels:
        for kind, ref in kernel.implementations.items():
            if kind not in SOURCES and kind not in NAMES:
                yield implementation(kernel, kind, ref)
        if kernel.groups:
            yield Named("trnbench_kernels", f"Kernel {kernel.name!r}", "groups", kernel.groups)


def implementation(kernel: Kernel, kind: str, ref: Any) -> Named:
    return Named("trnbench_kernels", f"Kernel {kernel.name!r}", f"implementations[{kind!r}]", ref)


def _implementations(subject: Subject, kernel: Kernel) -> Iterator[Finding | str]:
    """Kinds that somebody carries out; what those of simulators name is for their plugins to check."""
    for kind, ref in kernel.implementations.items():
        if kind not in (*SOURCES, *NAMES, *CODE, *_carried_out(subject)):
            yield finding(subject, implementation(kernel, kind, ref), f"nothing carries out kind {kind!r}")


def _variants(subject: Subject) -> Iterator[Finding | str]:
    """Each names a kernel that there is, and is an implementation that can be used."""
    for variant in subject.of_kind("variant"):
        object_ = f"Variant {variant.name!r}"
        named = Named("trnbench_kernels", object_, "source", variant.source)
        yield f"{object_} source"
        if variant.kind not in SOURCES and (problem := _unresolved(variant.source)):
            yield finding(subject, named, problem)
        if variant.kernel not in subject.registry.kernels:
            named = Named("trnbench_kernels", object_, "kernel", variant.kernel)
            yield finding(subject, named, "no installed plugin brings a kernel of that name")


def _carried_out(subject: Subject) -> set[str]:
    """Kinds that an instance or a backend of any plugin names."""
    registry = subject.registry
    kinds = {kind for name in registry.instance_names() for kind in registry.instance(name)[1].stack}
    for backend in registry.backends.values():
        try:
            kinds.update(detected(backend).kinds)
        except PluginError:  # the check of backends says so
            continue
    return kinds


def _unresolved(ref: Any) -> str:
    """ "" or why `ref` names no function. A package of others that is not installed here is no fault."""
    try:
        resolved = resolve(ref)
    except PluginError as error:
        missing = error.__cause__
        if isinstance(missing, ModuleNotFoundError) and missing.name:
            root = str(ref).partition(":")[0].partition(".")[0]
            if missing.name.partition(".")[0] != root:
                return ""
        return error.what.partition(": ")[2] or error.what
    except TrnbenchError as error:
        return error.what
    return "" if callable(resolved) else f"it is {type(resolved).__name__}, no function"


def finding(subject: Subject, named: Named, problem: str) -> Finding:
    origin = subject.loaded.origin
    return Finding(
        f"{named.object} of {origin.source}",
        f"{named.hook} gives {named.field} = {named.ref!r}, which cannot be used: {problem}",
        f"correct it in {origin.target}, or install what it needs",
    )
