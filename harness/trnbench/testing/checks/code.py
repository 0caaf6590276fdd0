"""Whether the code of a plugin loads, stands where references name it, and imports what is public alone."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trnbench.api import api, submodules
from trnbench.errors import PluginError, TrnbenchError
from trnbench.kernels.kernel import Kernel
from trnbench.reference import resolve
from trnbench.run.reply import detected
from trnbench.testing.subject import Finding, Subject


class Named(NamedTuple):
    """A reference, and who gives it: "Kernel 'gemm'", in which field, from which hook."""

    hook: str
    object: str
    field: str
    ref: Any


def references(subject: Subject) -> Iterator[Finding | str]:
    """Builders, identification, sections, formats, importers, and the implementations of every kind."""
    checked = {kind for check in subject.registry.checks.values() for kind in check.kinds}
    for named in (*_of_generations(subject), *_of_reports(subject), *_of_kernels(subject, checked)):
        yield f"{named.object} {named.field}"
        if problem := _unresolved(named.ref):
            yield finding(subject, named, problem)
    for kernel in subject.kernels:
        yield from _implementations(subject, kernel, checked)
    yield from _variants(subject, checked)


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
        for record in subject.of_kind(kind):
            yield Named(hook, f"{type(record).__name__} {record.name!r}", field, getattr(record, field))


def _of_kernels(subject: Subject, checked: Collection[str]) -> Iterator[Named]:
    """What other checks do not look at. A text without a module is a name of whoever carries it out."""
    for kernel in subject.kernels:
        for kind, ref in kernel.implementations.items():
            if kind not in checked and ":" in ref:
                yield implementation(kernel, kind, ref)
        if kernel.groups:
            yield Named("trnbench_kernels", f"Kernel {kernel.name!r}", "groups", kernel.groups)


def implementation(kernel: Kernel, kind: str, ref: Any) -> Named:
    return Named("trnbench_kernels", f"Kernel {kernel.name!r}", f"implementations[{kind!r}]", ref)


def _implementations(subject: Subject, kernel: Kernel, checked: Collection[str]) -> Iterator[Finding | str]:
    """Kinds that somebody carries out; what those of simulators name is for their plugins to check."""
    for kind, ref in kernel.implementations.items():
        if kind not in checked and kind not in _carried_out(subject):
            yield finding(subject, implementation(kernel, kind, ref), f"nothing carries out kind {kind!r}")


def _variants(subject: Subject, checked: Collection[str]) -> Iterator[Finding | str]:
    """Each names a kernel that there is, and is an implementation that can be used."""
    for variant in subject.of_kind("variant"):
        object_ = f"Variant {variant.name!r}"
        named = Named("trnbench_kernels", object_, "source", variant.source)
        yield f"{object_} source"
        if variant.kind not in checked and (problem := _unresolved(variant.source)):
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


CORE = "trnbench"
EXPORTING = (CORE, f"{CORE}.topology")
PUBLIC = (*EXPORTING, f"{CORE}.testing")
"""What plugins import; the last one in their tests, its fixtures by name."""


class Deep(NamedTuple):
    """An import of a module that is no part of the contract. `names`: what is taken from it."""

    line: int
    module: str
    names: tuple[str, ...] = ()

    @property
    def written(self) -> str:
        return f"from {self.module} import {', '.join(self.names)}" if self.names else f"import {self.module}"

    @property
    def instead(self) -> str:
        """What to write in its place."""
        for package in EXPORTING:
            if self.names and set(self.names) <= _exported(package):
                return f"from {package} import {', '.join(self.names)}"
        return "what a plugin needs is exported from trnbench and trnbench.topology: docs/plugins.md"


def imports(subject: Subject) -> Iterator[Finding | str]:
    """Each file of its package, read and not imported. A warning alone: it works as long as it works."""
    root = subject.loaded.origin.target.partition(":")[0].partition(".")[0]
    if root in ("", CORE) or not subject.loaded.origin.external:
        return  # what is released with the core is held to its imports by contracts of its own
    for path in _files(root):
        yield str(path)
        for deep in deep_imports(path.read_bytes()):
            yield Finding(
                f"{path.name}:{deep.line}",
                f"{deep.written}: no part of the contract, so that any release may move it",
                deep.instead,
                warning=True,
            )


def deep_imports(source: bytes) -> Iterator[Deep]:
    """Of Python source, in its order; nothing of a file that is none."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _deep(alias.name):
                    yield Deep(node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = tuple(alias.name for alias in node.names)
            if _deep(node.module):
                yield Deep(node.lineno, node.module, names)
            elif node.module in EXPORTING:
                exported = _exported(node.module)
                for name in names:
                    if name not in exported and importlib.util.find_spec(f"{node.module}.{name}") is not None:
                        yield Deep(node.lineno, f"{node.module}.{name}")


def _exported(package: str) -> set[str]:
    """Its public names; of the core those too that plugins give it."""
    own = set(importlib.import_module(package).__all__)
    return own | set(api()) if package == CORE else own


def _deep(module: str) -> bool:
    public = (PUBLIC[-1], *(f"{CORE}.{name}" for name in submodules()))
    within = any(f"{module}.".startswith(f"{name}.") for name in public)
    return module.startswith(f"{CORE}.") and module not in PUBLIC and not within


def _files(root: str) -> list[Path]:
    """The Python files of an importable package or module, in their order."""
    try:
        spec = importlib.util.find_spec(root)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations is None:
        return [Path(spec.origin)] if spec.origin and spec.origin.endswith(".py") else []
    return sorted(path for folder in spec.submodule_search_locations for path in Path(folder).rglob("*.py"))


def loading(subject: Subject) -> Iterator[Finding | str]:
    """Problems the registry met, slow imports, names that change, commands that do not import."""
    yield str(subject)
    names = [(each.kind, each.name) for each in subject.brought]  # asks every hook: what fails is known then
    for problem in subject.registry.problems_of(subject.loaded.origin):
        yield Finding(problem.object or str(subject), problem.sentence, problem.try_)
    if subject.loaded.slow:
        yield Finding(str(subject), subject.loaded.slow, 'name code by reference: "package.module:function"')
    repeated = [
        (each.kind, each.name)
        for each in subject.registry.fresh().collect()
        if each.origin == subject.loaded.origin
    ]
    if names != repeated:
        differing = sorted(set(names) ^ set(repeated)) or names
        yield Finding(
            str(subject),
            f"yields other things the second time: {', '.join(f'{kind} {name}' for kind, name in differing)}",
            "yield the same values in the same order whenever a hook is called",
        )
    if subject.loaded.error is None:  # else importing its commands does again what ended the import before
        yield from _commands(subject)


def _commands(subject: Subject) -> Iterator[Finding | str]:
    import click

    for entry in subject.commands:
        about = f"command {entry.name}"
        yield about
        try:
            command = entry.load()
        except (Exception, SystemExit) as error:
            yield Finding(
                about,
                f"cannot be imported: {type(error).__name__}: {error}",
                f"python -c 'import {entry.value.partition(':')[0]}'",
            )
            continue
        if not isinstance(command, click.Command):
            yield Finding(
                about,
                f"{entry.value} is {type(command).__name__}, no click command",
                "decorate it with @click.command()",
            )
        elif not command.help:
            yield Finding(about, "has no help", "give the function a docstring")
