"""What a kernel's page and an instance's have in common: skips, names of documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trnbench.cli.output import Column
from trnbench.cli.sections import Row

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.run.plan import Plan

SKIPS: tuple[Column | str, ...] = ("instance", "cases", "of", "reason")


def document_name(system: System, source: str) -> str:
    """Document and version of a source's id; the id itself where no document has it."""
    found = system.book.sources.get(source)
    return f"{found.document} {found.version}".strip() if found else source


def skips(planned: Plan) -> Iterable[Row]:
    """How many cases of each instance each reason costs."""
    reasons: dict[tuple[str, str], int] = {}
    totals: dict[str, int] = {}
    for case in planned.cases:
        totals[case.key.instance] = totals.get(case.key.instance, 0) + 1
        if case.skip:
            key = (case.key.instance, case.skip)
            reasons[key] = reasons.get(key, 0) + 1
    for (instance, reason), count in reasons.items():
        yield {"instance": instance, "cases": count, "of": totals[instance], "reason": reason}
