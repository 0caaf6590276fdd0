"""Every check, and how they are made: one after the other, none stopping the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from trnbench.errors import TrnbenchError, UnknownName
from trnbench.registry.loader import described
from trnbench.testing.checks.backends import backends
from trnbench.testing.checks.emulation import emulation
from trnbench.testing.checks.facts import facts
from trnbench.testing.checks.importers import importers
from trnbench.testing.checks.imports import imports
from trnbench.testing.checks.kernels import kernels
from trnbench.testing.checks.loading import loading
from trnbench.testing.checks.references import references
from trnbench.testing.checks.reports import reports
from trnbench.testing.checks.topologies import topologies
from trnbench.testing.finding import Finding, Report
from trnbench.testing.subject import Subject, subjects
from trnbench_emulator.checks.pieces import pieces
from trnbench_emulator.checks.values import values
from trnbench_steps.checks.workloads import workloads

Check = Callable[[Subject], Iterator[Finding | str]]
"""Yields the name of each thing it looks at, and a `Finding` for each that is wrong."""

CHECKS: Mapping[str, Check] = {
    "loading": loading,
    "imports": imports,
    "references": references,
    "facts": facts,
    "topologies": topologies,
    "kernels": kernels,
    "values": values,
    "pieces": pieces,
    "backends": backends,
    "emulation": emulation,
    "reports": reports,
    "importers": importers,
    "workloads": workloads,
}


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
    wanted = tuple(checks) or tuple(CHECKS)
    for name in wanted:
        if name not in CHECKS:
            raise UnknownName("check", name, CHECKS)
    findings: list[Finding] = []
    counted = dict.fromkeys(wanted, 0)
    with subjects(what, block) as chosen:
        for subject in chosen:
            for name in wanted:
                if on_check:
                    on_check(f"{name} of {subject}")
                for seen in _made(CHECKS[name], subject):
                    if isinstance(seen, Finding):
                        findings.append(seen._replace(check=name))
                    else:
                        counted[name] += 1
        return Report(tuple(map(str, chosen)), tuple(findings), counted)


def _made(check: Check, subject: Subject) -> Iterator[Finding | str]:
    """A check that fails for a reason of the plugin's ends with a finding of its own."""
    try:
        yield from check(subject)
    except TrnbenchError as error:
        problem = f"{error.what}: {error.cause}" if error.cause else error.what
        yield Finding(str(subject), problem, error.try_ or "correct that, then check again")
    except Exception as error:
        yield Finding(str(subject), described(error), "correct that, then check again")
