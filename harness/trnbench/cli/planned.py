"""The cases of a plan, as rows of a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trnbench.cli.output import Column

if TYPE_CHECKING:
    from trnbench.run.plan import Plan

CASE_COLUMNS = (Column("id", "case"), Column("planned", keep=1), "reason")
"""What people are shown of a row; JSON holds all of it."""

EXACT = ("instance", "case", "planned", "reason")
"""The columns of CSV."""


def case_rows(planned: Plan) -> Iterator[dict[str, object]]:
    """One per case; `reason` says why one is skipped, and is empty for those that run."""
    for case in planned.cases:
        key = case.key
        fullname = key.fullname
        yield {
            "case": fullname,
            "instance": key.instance,
            "planned": "skip" if case.skip else "run",
            "reason": case.skip,
            "id": key.on_instance(fullname),
            "kernel": key.kernel,
            "scope": key.scope.value,
            "point": dict(key.point),
        }
