"""Section 9: on what, with what, how; and how to read this page."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trnbench import Run
from trnbench_reports import glossary, numbers, view
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup


def render(runs: Sequence[Run]) -> Markup:
    parts = [
        {
            "heading": heading,
            "run": run,
            "command": shlex.join(numbers.clean(each, 200) for each in run.argv)
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
            "systems": [(each, wired(each.topology_summary)) for each in view.systems(run)],
        }
        for _, run, heading in view.each_run(runs)
    ]
    return fill("method", parts=parts, glossary=glossary.terms())


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
            rows.append((name, ", ".join(map(_said, value)) or "none"))
        else:
            rows.append((name, _said(value)))
    return rows


def _said(value: Any) -> str:
    """A setting as people write it, never as Python does."""
    if value is None or isinstance(value, bool):
        return {None: "", True: "yes", False: "no"}[value]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def wired(summary: Mapping[str, Any]) -> str:
    """`torus 4 × 4; 4 links a device; at most 4 hops; 825 GB/s through the middle, one way`.

    What is stored in another form is left out.
    """
    sentences = []
    shape = summary.get("shape_words") or summary.get("kind")
    if isinstance(shape, str):
        sentences.append(numbers.clean(shape, 100))
    for name, said in (("degree", "{:,} links a device"), ("diameter", "at most {:,} hops")):
        count = summary.get(name)
        if isinstance(count, int) and not isinstance(count, bool) and count > 0:
            sentences.append(said.format(count))
    rate = view.number(summary.get("bisection_one_way_bytes_per_s"))
    if rate is not None and rate > 0:
        sentences.append(f"{numbers.show(rate, 'B/s')} through the middle, one way")
    return "; ".join(sentences)


def _formulas(run: Run) -> list[tuple[str, str, str, int]]:
    """Metric, unit, formula and how many cases used it."""
    formulas = Counter(
        (metric.name, metric.unit, metric.formula)
        for measurement in run.measurements
        for metric in measurement.metrics.values()
        if metric.formula
    )
    return [(name, unit, formula, count) for (name, unit, formula), count in sorted(formulas.items())]
