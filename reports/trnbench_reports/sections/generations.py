"""Section 4: the same kernel on each generation, and what became of the promised gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trnbench import Measurement, Run, Scope, SystemRecord
from trnbench_reports import numbers, view, words
from trnbench_reports.charts import figure
from trnbench_reports.charts.gains import Gain, draw
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True, kw_only=True)
class Cell:
    value: str = ""
    exact: str = ""
    share: str = ""
    gain: str = ""
    missing: str = ""
    anchor: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    kernel: str
    point: str
    grade: str
    cells: tuple[Cell, ...]


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing for a page with a single generation."""
    parts = []
    for index, run, heading in view.each_newest(runs):
        reps = representatives(run)
        if len(reps) < 2:
            continue
        tables = []
        for reach in ("core", "whole system"):
            rows, gains = _rows(index, run, reps, reach)
            if rows:
                made = draw(f"gain-{index}-{reach[:4]}", gains, reach) if gains else None
                tables.append((reach, rows, figure.show(made) if made else ""))
        parts.append((heading, [(r, view.colour(run, r.generation)) for r in reps], tables))
    return fill("generations", parts=parts) if any(tables for _, _, tables in parts) else ""


def representatives(run: Run) -> list[SystemRecord]:
    """One system for each generation: the largest single instance, else the smallest larger system."""
    chosen: dict[str, SystemRecord] = {}
    ran = {each.case.instance for each in run.measurements}
    for record in view.systems(run):
        if record.instance not in ran:
            continue
        held = chosen.get(record.generation)
        if held is None or _merit(record) > _merit(held):
            chosen[record.generation] = record
    return list(chosen.values())


def _merit(record: SystemRecord) -> tuple[bool, int]:
    single = record.scope is Scope.INSTANCE
    return single, record.devices if single else -record.devices


def _rows(index: int, run: Run, reps: Sequence[SystemRecord], reach: str) -> tuple[list[Row], list[Gain]]:
    rows: list[Row] = []
    gains: list[Gain] = []
    for kernel, found in view.by_kernel(run.measurements).items():
        for dtype in dict.fromkeys(each.case.dtype for each in found):
            mine = [each for each in found if each.case.dtype == dtype]
            made = _row(index, run, kernel, dtype, mine, reps, reach, gains)
            if made is not None:
                rows.append(made)
    return rows, gains


def _row(
    index: int,
    run: Run,
    kernel: str,
    dtype: str,
    found: Sequence[Measurement],
    reps: Sequence[SystemRecord],
    reach: str,
    gains: list[Gain],
) -> Row | None:
    """The point that most generations ran, and ran best: like is compared with like."""
    table: dict[str, dict[str, Measurement]] = {}
    for each in found:
        record = next((r for r in reps if r.instance == each.case.instance), None)
        if record is not None and view.reach(record, each.case.scope) == reach:
            table.setdefault(view.point_text(each), {})[record.generation] = each
    if not table:
        return None

    def merit(point: str) -> tuple[int, float]:
        good = [each for each in table[point].values() if each.status in view.GOOD and view.primary(each)]
        return len(good), sum(each.judgement.fraction for each in good if each.judgement)

    point = max(table, key=merit)
    if merit(point)[0] == 0:
        return None
    cases = table[point]
    first: Measurement | None = None
    cells = []
    for record in reps:
        case = cases.get(record.generation)
        if case is None or case.status not in view.GOOD or view.primary(case) is None:
            cells.append(
                Cell(missing=_missing(case, record), anchor=view.anchor(index, case) if case else "")
            )
            continue
        gain = ""
        if first is None:
            first = case
        else:
            gain = _gain(first, case)
            got, promised = _ratios(first, case)
            if got is not None:
                name = " ".join(filter(None, (words.clean(kernel, 40), dtype)))
                gains.append(
                    Gain(
                        name=name,
                        generation=record.generation,
                        got=got,
                        promised=promised,
                        colour=view.colour(run, record.generation),
                        anchor=view.anchor(index, case),
                        tooltip=f"{name}: {gain}",
                    )
                )
        cells.append(_cell(index, case, gain))
    good = [each for each in cases.values() if each.status in view.GOOD]
    grades = list(dict.fromkeys(str(each.evidence.grade) for each in good))
    label = " ".join(filter(None, (kernel, dtype)))
    rest = next(iter(cases.values()))
    return Row(
        kernel=label,
        point=view.point_text(rest, without=("dtype",)),
        grade=" and ".join(grades),
        cells=tuple(cells),
    )


def _cell(index: int, case: Measurement, gain: str) -> Cell:
    metric = view.primary(case)
    assert metric is not None
    return Cell(
        value=numbers.show(metric.value, metric.unit),
        exact=f"{numbers.exact(metric.value)} {metric.unit}",
        share=numbers.percent(case.judgement.fraction) if case.judgement else "no documented peak",
        gain=gain,
        anchor=view.anchor(index, case),
    )


def _ratios(first: Measurement, case: Measurement) -> tuple[float | None, float | None]:
    """Gain got and gain promised; a shorter time is a gain as well."""
    old, new = view.primary(first), view.primary(case)
    if old is None or new is None or old.value <= 0 or new.value <= 0 or old.unit != new.unit:
        return None, None
    got = new.value / old.value if new.better == "higher" else old.value / new.value
    if first.judgement is None or case.judgement is None:
        return got, None
    before, after = first.judgement.peaks.chosen.value, case.judgement.peaks.chosen.value
    return got, after / before if before > 0 else None


def _gain(first: Measurement, case: Measurement) -> str:
    got, promised = _ratios(first, case)
    if got is None:
        return "not comparable: other unit"
    since = words.clean(first.case.generation, 20)
    if first.evidence.grade is not case.evidence.grade:
        return f"not compared: {first.evidence.grade} against {case.evidence.grade}"
    if promised is None:
        return f"{numbers.times(got)} of {since}, no gain promised"
    return f"{numbers.times(got)} of the {numbers.times(promised)} promised over {since}"


def _missing(case: Measurement | None, record: SystemRecord) -> str:
    if case is None:
        return f"not in this run for {words.clean(record.instance, 60)}"
    return f"{case.status}: {words.clean(case.reason_text or str(case.reason) or 'no value', 200)}"
