"""Section 9: on what, with what, how; and how to read this page."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trnbench import Run
from trnbench_reports import view, words
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup


def render(runs: Sequence[Run]) -> Markup:
    parts = [
        {
            "heading": heading,
            "run": run,
            "command": shlex.join(words.clean(each, 200) for each in run.argv)
            if run.argv
            else "not recorded",
            "environment": _flat(run.environment),
            "settings": _flat(run.settings),
            "stops": _counted(each.stop_reason for each in run.measurements),
            "clocks": _counted(each.clock for each in run.measurements),
            "models": _counted(
                f"{each.evidence.grade}: {each.evidence.by} {each.evidence.version}".strip()
                for each in run.measurements
            ),
            "implementations": _counted(each.implementation for each in run.measurements),
            "formulas": _formulas(run),
            "systems": view.systems(run),
        }
        for _, run, heading in view.each_run(runs)
    ]
    return fill("method", parts=parts)


def _counted(values: Any) -> list[tuple[str, int]]:
    return [(value, count) for value, count in Counter(values).most_common(40) if value]


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as dotted names, in their order."""
    rows: list[tuple[str, str]] = []
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            rows += _flat(value, f"{name}.")
        elif isinstance(value, (list, tuple)):
            rows.append((name, ", ".join(str(each) for each in value) or "none"))
        else:
            rows.append((name, "" if value is None else str(value)))
    return rows


def _formulas(run: Run) -> list[tuple[str, str, str, int]]:
    """Metric, unit, formula and how many cases used it."""
    found = Counter(
        (metric.name, metric.unit, metric.formula)
        for each in run.measurements
        for metric in each.metrics.values()
        if metric.formula
    )
    return [(name, unit, formula, count) for (name, unit, formula), count in sorted(found.items())]
