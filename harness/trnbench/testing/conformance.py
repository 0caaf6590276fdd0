"""Every check, and how they are made: one after the other, none stopping the next."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from trnbench.backend import Detection
from trnbench.errors import PluginError, TrnbenchError, UnknownName
from trnbench.isolation.interrupt import from_outside
from trnbench.isolation.output import aside
from trnbench.lazy import resolve
from trnbench.registry.loader import described
from trnbench.run.importing import read_runs
from trnbench.testing.checks.facts import facts
from trnbench.testing.checks.imports import imports
from trnbench.testing.checks.kernels import kernels
from trnbench.testing.checks.references import references
from trnbench.testing.checks.reports import reports
from trnbench.testing.checks.topologies import topologies
from trnbench.testing.finding import Finding, Report
from trnbench.testing.subject import Subject, subjects

if TYPE_CHECKING:
    from trnbench.registry import Registry


def loading(subject: Subject) -> Iterator[Finding | str]:
    """Problems the registry met, slow imports, names that change, commands that do not import."""
    yield str(subject)
    brought = subject.brought
    for problem in subject.registry.problems_of(subject.loaded.origin):
        yield Finding(problem.object or str(subject), f"{problem.what}: {problem.cause}", problem.try_)
    if subject.loaded.slow:
        yield Finding(str(subject), subject.loaded.slow, 'name code by reference: "package.module:function"')
    names = [(each.kind, each.name) for each in brought]
    repeated = [
        (each.kind, each.name)
        for each in subject.registry.fresh().collect()
        if (each.origin.name, each.origin.distribution)
        == (subject.loaded.origin.name, subject.loaded.origin.distribution)
    ]
    if names != repeated:
        differing = sorted(set(names) ^ set(repeated)) or names
        yield Finding(
            str(subject),
            f"yields other things the second time: {', '.join(f'{kind} {name}' for kind, name in differing)}",
            "yield the same values in the same order whenever a hook is called",
        )
    yield from _commands(subject)


def _commands(subject: Subject) -> Iterator[Finding | str]:
    import click

    for entry in subject.commands:
        yield f"command {entry.name}"
        try:
            command = entry.load()
        except (Exception, SystemExit) as error:
            yield Finding(
                f"command {entry.name}",
                f"cannot be imported: {type(error).__name__}: {error}",
                f"python -c 'import {entry.value.partition(':')[0]}'",
            )
            continue
        if not isinstance(command, click.Command):
            yield Finding(
                f"command {entry.name}",
                f"{entry.value} is {type(command).__name__}, no click command",
                "decorate it with @click.command()",
            )
        elif not command.help:
            yield Finding(f"command {entry.name}", "has no help", "give the function a docstring")


_NO_RESULTS = {
    "an empty file": b"",
    "bytes that are no text": b"\x00\xff\xfe\x80" * 64,
    "a line of prose": b"this is no result file\n",
    "an empty JSON object": b"{}\n",
}


def importers(subject: Subject) -> Iterator[Finding | str]:
    """What is no result file of that kind may be refused with a `TrnbenchError`, and with nothing else."""
    for importer in subject.of_kind("importer"):
        yield f"importer {importer.name}"
        for words, data in _NO_RESULTS.items():
            try:
                read_runs(importer, data, words)
            except PluginError as error:
                yield Finding(
                    f"importer {importer.name}",
                    error.what,
                    "raise trnbench.TrnbenchError for what cannot be read; return a Run for what can",
                )
                break
            except TrnbenchError:
                continue
            else:
                yield Finding(
                    f"importer {importer.name}",
                    f"makes a run of {words}",
                    "raise trnbench.TrnbenchError for it",
                )


SOON_S = 1.0
_KEY = re.compile(r"[a-z][a-z0-9_]*")


def backends(subject: Subject) -> Iterator[Finding | str]:
    """Each backend on this machine, whatever it is."""
    for backend in subject.of_kind("backend"):
        about = f"backend {backend.name}"
        yield about
        started = time.perf_counter()
        try:
            with aside():
                seen = backend.detect()
        except BaseException as error:
            if from_outside(error):
                raise
            yield Finding(
                about, f"detect() raises {described(error)}", "return Detection(available=False, why=…)"
            )
            continue
        took = time.perf_counter() - started
        if took > SOON_S:
            yield Finding(
                about, f"detect() took {took:.1f} s", "look for files and commands, import nothing big"
            )
        if not isinstance(seen, Detection):
            yield Finding(about, f"detect() returns {type(seen).__name__}", "return a trnbench.Detection")
        elif not seen.available and not (seen.why and seen.try_):
            yield Finding(about, "is not available and does not say why", "fill in Detection.why and try_")
        for key, value in backend.environment().items():
            if not _KEY.fullmatch(key):
                yield Finding(about, f"environment has {key!r}", "use lower_snake names")
            if not isinstance(value, str | int | float | bool | None):
                yield Finding(
                    about, f"environment {key} is {type(value).__name__}", "keep it flat: no lists, no tables"
                )


Check = Callable[[Subject], Iterator[Finding | str]]
"""Yields the name of each thing it looks at, and a `Finding` for each that is wrong."""

CORE: Mapping[str, tuple[int, Check]] = {
    "loading": (10, loading),
    "imports": (20, imports),
    "references": (30, references),
    "facts": (40, facts),
    "topologies": (50, topologies),
    "kernels": (60, kernels),
    "backends": (90, backends),
    "reports": (110, reports),
    "importers": (120, importers),
}
"""Those of the core, each with its place among all."""


def checks_of(registry: Registry) -> dict[str, Callable[[], Check]]:
    """All checks by name, in their order; one of a plugin is imported when it is called for."""
    own: list[tuple[int, str, Callable[[], Check]]] = [
        (order, name, partial(_same, check)) for name, (order, check) in CORE.items()
    ]
    own += [
        (each.order, each.name, partial(resolve, each.check))
        for each in registry.checks.values()
        if each.name not in CORE
    ]
    return {name: check for _, name, check in sorted(own, key=lambda each: each[:2])}


def check_names() -> tuple[str, ...]:
    """All that the installed plugins check, in order: `trnbench.testing.CHECKS`."""
    from trnbench.registry import load_registry

    return tuple(checks_of(load_registry()))


def _same(check: Check) -> Check:
    return check


def check_plugin(
    what: str = "",
    *,
    checks: Iterable[str] = (),
    block: Iterable[str] = (),
    on_check: Callable[[str], None] | None = None,
) -> Report:
    """Hold the plugin (name, distribution, path; "" for all installed) to the contract.

    Raises `UnknownName` for a plugin or check that is not there, `MissingFile` and `BadInput` for a
    path that is no plugin. Whatever a plugin does wrong is a finding, not an error.
    """
    findings: list[Finding] = []
    with subjects(what, block) as chosen:
        known = checks_of(chosen[0].registry)
        wanted = tuple(checks) or tuple(known)
        for name in wanted:
            if name not in known:
                raise UnknownName("check", name, known)
        counted = dict.fromkeys(wanted, 0)
        for subject in chosen:
            for name in wanted:
                if on_check:
                    on_check(f"{name} of {subject}")
                for seen in _made(known[name], subject):
                    if isinstance(seen, Finding):
                        findings.append(seen._replace(check=name))
                    else:
                        counted[name] += 1
        return Report(tuple(map(str, chosen)), tuple(findings), counted)


def _made(check: Callable[[], Check], subject: Subject) -> Iterator[Finding | str]:
    """A check that fails for a reason of the plugin's ends with a finding of its own."""
    try:
        yield from check()(subject)
    except TrnbenchError as error:
        problem = f"{error.what}: {error.cause}" if error.cause else error.what
        yield Finding(str(subject), problem, error.try_ or "correct that, then check again")
    except Exception as error:
        yield Finding(str(subject), described(error), "correct that, then check again")
