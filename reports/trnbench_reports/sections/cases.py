"""Every case in a table of its kernel: what the board and the charts link to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trnbench import Measurement, Run, nearness_of
from trnbench_reports import numbers, view, words
from trnbench_reports.beside import Beside, beside
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup


def render(runs: Sequence[Run]) -> Markup:
    others = beside(runs)
    parts = [
        (
            heading,
            [
                _table(index, kernel, found, others)
                for kernel, found in view.by_kernel(run.measurements).items()
            ],
        )
        for index, run, heading in view.each_run(runs)
    ]
    return fill("cases", parts=parts)


def _table(
    index: int, kernel: str, found: Sequence[Measurement], others: Mapping[tuple[int, str], Beside]
) -> dict[str, Any]:
    """One unit for each column, chosen by its middle value; every axis of the kernel a column."""
    shown = [metric for each in found if (metric := view.primary(each)) is not None]
    unit = Counter(metric.unit for metric in shown).most_common(1)[0][0] if shown else ""
    step, unit_name = numbers.scale(unit, (metric.value for metric in shown if metric.unit == unit))
    time_step, time_unit = numbers.scale("s", (each.time_s for each in found if each.time_s))
    axes = list(dict.fromkeys(name for each in found for name in each.case.point))[:12]
    names = list(dict.fromkeys(metric.name for metric in shown if metric.unit == unit))
    # Said once below the table instead of in every row.
    comments = Counter(
        each.judgement.comment for each in found if each.judgement is not None and each.judgement.comment
    )
    # What most rows have stands once at the table; page.js gives it back to the rows.
    usual = {
        "e": Counter(str(each.evidence.grade) for each in found).most_common(1)[0][0],
        "t": Counter(str(each.status) for each in found).most_common(1)[0][0],
    }
    asks, tests = _asked(found)
    return {
        "kernel": kernel,
        "asks": asks,
        "tests": tests,
        "usual": usual,
        "axes": axes,
        "metric": names[0] if names else "value",
        "unit": unit_name,
        "time_unit": time_unit,
        "count": len(found),
        "statuses": [(str(s), n) for s, n in Counter(each.status for each in found).items()],
        "comments": [(text, n) for text, n in comments.most_common(6)],
        "paired": any((index, each.id) in others for each in found),
        "rows": [
            {
                **_row(index, each, axes, unit, step, time_step, usual),
                "beside": others.get((index, each.id)),
            }
            for each in found
        ],
    }


def _asked(found: Sequence[Measurement]) -> tuple[str, list[tuple[str, str]]]:
    """The question of the kernel, and what documents say to it: place and content. Empty where none is kept.

    Runs may come from anywhere: whatever is not of this form counts as absent.
    """
    for each in found:
        asks, tests = each.detail.get("asks"), each.detail.get("tests")
        if isinstance(asks, str) and isinstance(tests, list):
            told = (one for one in tests if isinstance(one, Mapping))
            return asks, [
                (f"{one.get('source', '')}, {one.get('locator', '')}", str(one.get("says", "")))
                for one in told
            ]
    return "", []


def _row(
    index: int,
    each: Measurement,
    axes: Sequence[str],
    unit: str,
    step: float,
    time_step: float,
    usual: Mapping[str, str],
) -> dict[str, Any]:
    metric = view.primary(each)
    value = exact = ""
    if metric is not None:
        same = metric.unit == unit
        value = numbers.significant(metric.value / step) if same else numbers.show(metric.value, metric.unit)
        exact = f"{numbers.exact(metric.value)} {metric.unit}"
    judged = each.judgement
    why = each.reason_text or str(each.reason) or (each.stability.why if each.stability else "")
    if judged is not None and not why:
        why = "; ".join(judged.causes)
    return {
        "anchor": view.anchor(index, each),
        "attributes": [
            (name, value)
            for name, value in (
                ("y", words.clean(each.case.instance, 80)),
                ("d", words.clean(each.case.dtype, 40)),
                ("e", str(each.evidence.grade)),
                ("t", str(each.status)),
            )
            if value != usual.get(name, "")
        ],
        "instance": each.case.instance,
        "scope": each.case.scope,
        "point": [each.case.point.get(name, "") for name in axes],
        "value": value,
        "exact": exact,
        "share": numbers.percent(judged.fraction) if judged else "",
        "of": words.clean(view.peak_text(each), 80) if judged else "",
        "time": numbers.significant(each.time_s / time_step) if each.time_s is not None else "",
        "interval": view.interval_text(each),
        "bound": each.bound,
        "grade": each.evidence.grade,
        "letter": each.evidence.grade.letter,
        "near": nearness_of(each),
        "expect": view.expect_text(each),
        "faint": view.faint(each),
        "status": each.status,
        "why": why,
    }
