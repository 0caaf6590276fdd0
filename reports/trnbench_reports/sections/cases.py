"""Every case in one table, which the page's script makes from the embedded data when it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trnbench import Run
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing of runs without cases."""
    count = sum(len(run.measurements) for run in runs)
    return fill("cases", count=count) if count else ""
