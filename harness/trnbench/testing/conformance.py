"""Every check, and how they are made: one after the other, none stopping the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from trnbench.errors import TrnbenchError, UnknownName
from trnbench.isolation.surroundings import Exit, exits_raise
from trnbench.reference import resolve
from trnbench.registry.loader import described
from trnbench.testing.checks.code import imports, loading, references
from trnbench.testing.checks.machines import facts, kernels, topologies
from trnbench.testing.checks.services import backends, importers, reports
from trnbench.testing.subject import Finding, Report, Subject, subjects

if TYPE_CHECKING:
    from trnbench.registry import Registry

REMEDY = "yield trnbench.testing.Finding(about, problem, try_)"
AGAIN = "correct that, then check again"

Check = Callable[[Subject], Iterator[Finding | str]]
"""Yields the name of each thing it looks at, and a `Finding` for each that is wrong."""


def _loading(subject: Subject) -> Iterator[Finding | str]:
    """As `loading`, and its checks under a name of the core's, which are never made."""
    yield from loading(subject)
    for check in subject.of_kind("check"):
        if check.name in CORE:
            problem = "a check of the core has this name: this one is never made"
            yield Finding(f"check {check.name!r}", problem, "another name")


CORE: Mapping[str, tuple[int, Check]] = {
    "loading": (10, _loading),
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
    brought = {check.name: (check.order, check.check) for check in registry.checks.values()}
    checks: dict[str, tuple[int, Any]] = {**brought, **CORE}
    order = sorted(checks, key=lambda name: (checks[name][0], name))
    return {name: partial(resolve, checks[name][1]) for name in order}


def check_names() -> tuple[str, ...]:
    """All that the installed plugins check, in order: `trnbench.testing.CHECKS`."""
    from trnbench.registry import load_registry

    return tuple(checks_of(load_registry()))


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
        available = checks_of(chosen[0].registry)
        wanted = tuple(checks) or tuple(available)
        for name in wanted:
            if name not in available:
                raise UnknownName("check", name, available)
        counted = dict.fromkeys(wanted, 0)
        for subject in chosen:
            for name in wanted:
                if on_check:
                    on_check(f"{name} of {subject}")
                for seen in _made(available[name], subject):
                    if isinstance(seen, Finding):
                        findings.append(seen._replace(check=name, try_=seen.try_ or AGAIN))
                    elif isinstance(seen, str):
                        counted[name] += 1
                    else:
                        problem = (
                            f"yields {type(seen).__name__}, neither a name nor a trnbench.testing.Finding"
                        )
                        findings.append(Finding(f"check {name!r}", problem, REMEDY, name))
        return Report(tuple(map(str, chosen)), tuple(findings), counted)


def _made(check: Callable[[], Check], subject: Subject) -> Iterator[Finding | str]:
    """A check that fails for a reason of the plugin's ends with a finding of its own."""
    try:
        with exits_raise():
            yield from check()(subject)
    except TrnbenchError as error:
        problem = error.sentence
        yield Finding(str(subject), problem, error.try_)
    except Exit as error:
        *_, place, _ = extract_tb(error.__traceback__)
        problem = f"what it brings ends the process: {error} ({place.filename}:{place.lineno})"
        yield Finding(str(subject), problem, "an exception, which says what is wrong")
    except (Exception, SystemExit) as error:
        yield Finding(str(subject), described(error), "")
