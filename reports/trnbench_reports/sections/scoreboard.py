"""The scoreboard: kernels against generations, every sweep by its range with the best marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import trnbench
from trnbench import Change, Measurement, Record, Run, Side, Status, TrnbenchError, grouped, nearness_of
from trnbench_reports import board, numbers, view
from trnbench_reports.charts import lines
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup


class Beside(NamedTuple):
    """`anchor`: of the case in the other run. `change` is from the first run to the second, in either."""

    value: str
    anchor: str
    change: str
    why: str


def beside(runs: Sequence[Run]) -> dict[tuple[int, str], Beside]:
    """By index of the run and id of the case; empty unless there are two runs with cases in common."""
    if len(runs) != 2 or runs[0].id == runs[1].id:
        return {}
    try:
        comparison = trnbench.compare_runs(*runs, across=True)
    except TrnbenchError:  # nothing in common
        return {}
    changes: dict[tuple[int, str], Beside] = {}
    for change in comparison.changes:
        if change.before is not None and change.after is not None:
            changes[0, change.before.id] = _of(change, change.after, 1)
            changes[1, change.after.id] = _of(change, change.before, 0)
    return changes


def _of(change: Change, other: Side, index: int) -> Beside:
    value = numbers.show(other.value, change.unit) if other.value is not None else str(other.status)
    return Beside(
        value=value,
        anchor=view.figure_by_id(index, other.id, view.SHARE),
        change=trnbench.change_text(change),
        why="; ".join(filter(None, (change.why, *change.causes))),
    )


LEADING = 2
"""Kernels of a family that stand on the first look."""
MOST, FEWEST, ALL = 16, 3, 200
"""Rows of one kernel: types, scopes and systems; of a board of more than `ALL` rows fewer. More are counted,
and stand in the table of all cases."""
FEW = 24
"""Kernels up to which all of them do."""


class Shown(Record, kw_only=True):
    """A cell as the page shows it: `text` of the best and the address that explains it.

    `least`: the other end of the range, "" for a single case. `near`: class of the nearest published evidence
    and what to expect by its band; `published`: the address of its best point, if it has one. `value` sorts.
    """

    text: str
    title: str
    address: str
    status: str
    letter: str = ""
    grade: str = ""
    value: float | None = None
    least: str = ""
    drawn: Markup | str = ""
    near: str = ""
    published: str = ""
    within: str = ""
    faint: bool = False
    note: str = ""
    systems: str = ""
    other: Beside | None = None

    @property
    def loud(self) -> bool:
        """Whether it has suspect, failed or inconclusive cases."""
        return bool(self.note) or self.status in ("suspect", "failed", "inconclusive")


def render(runs: Sequence[Run]) -> Markup:
    others = beside(runs)
    parts = []
    for index, run, heading in view.each_newest(runs):
        wanted = board.generations(run)
        rows, silent = [], []
        spans: dict[str, int] = {}
        groups = board.groups(run)
        for kernel, found in groups:
            shown = [(row, cells(index, row, others)) for row in found]
            kept = [
                (row, made)
                for number, (row, made) in enumerate(shown)
                if any(cell and cell.status != "skipped" for cell in made)
                or (number == 0 and any(cell for _, rest in shown for cell in rest if cell and cell.letter))
            ]
            if kept:
                rows.append((kernel, kept))
            else:
                silent.append(numbers.clean(kernel, 60))
        most = MOST if sum(len(kept) for _, kept in rows) <= ALL else FEWEST
        for number, (kernel, kept) in enumerate(rows):
            loud = [pair for pair in kept[most:] if any(cell and cell.loud for cell in pair[1])]
            spans[kernel] = len(kept[most:]) - len(loud)
            rows[number] = (kernel, kept[:most] + loud)
        parts.append(
            {
                "index": index,
                "heading": heading,
                "generations": [(name, view.colour(run, name), _systems(run, name)) for name in wanted],
                "rows": rows,
                "folded": _folded(rows),
                "left": spans,
                "silent": silent,
                "families": sorted({numbers.clean(found[0].family, 40) for _, found in groups}),
                "letters": sorted(
                    {cell.letter for _, kept in rows for _, m in kept for cell in m if cell and cell.letter}
                ),
                "skips": _skips(run),
                "loud": _loud(run),
                "low": run.counts()[Status.DOCUMENT_LOW],
            }
        )
    return fill("scoreboard", parts=parts, named=NAMED, why=_why, causes=_causes)


def _folded(rows: Sequence[tuple[str, Sequence[tuple[board.Row, Sequence[Shown | None]]]]]) -> set[str]:
    """Kernels that wait behind a tick: of a large board all but the first of each family. One that bears the
    family's name comes first, and what is suspect, failed or unsteady is never among them."""
    if len(rows) <= FEW:
        return set()
    named_first = sorted(rows, key=lambda each: each[0] != each[1][0][0].family)
    families = grouped(named_first, lambda each: each[1][0][0].family).values()
    leading = {kernel for family in families for kernel, _ in family[:LEADING]}
    loud = {kernel for kernel, kept in rows for _, made in kept for cell in made if cell and cell.loud}
    return {kernel for kernel, _ in rows} - leading - loud


def _systems(run: Run, generation: str) -> str:
    ran = {measurement.case.instance for measurement in run.measurements}
    names = [
        numbers.clean(record.instance, 60)
        for record in view.systems(run)
        if record.generation == generation and record.instance in ran
    ]
    return ", ".join(names[:6])


def cells(index: int, row: board.Row, others: Mapping[tuple[int, str], Beside] = {}) -> list[Shown | None]:
    """Of a row, in the order of its generations."""
    return [_cell(index, row, cell, others) if cell is not None else None for cell in row.cells]


def _cell(index: int, row: board.Row, cell: board.Cell, others: Mapping[tuple[int, str], Beside]) -> Shown:
    counts = Counter(str(each.status) for each in cell.bad)
    note = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    systems = ", ".join(numbers.clean(each, 60) for each in cell.systems) if row.system else ""
    top, least = cell.best, cell.least
    if top is not None:
        share = cell.share
        metric = view.SHARE if share is not None else top.primary
        low = least.judgement.fraction if least is not None and least.judgement is not None else None
        best = view.published(top) if row.main else None
        of = top.judgement.peaks.chosen.value if best is not None and top.judgement is not None else 0.0
        return Shown(
            text=numbers.percent(share) if share is not None else view.value_text(top),
            title=view.tooltip(top),
            address=view.figure_of(index, top, metric),
            status=str(top.status),
            letter=top.evidence.grade.letter,
            grade=str(top.evidence.grade),
            value=share,
            least=_least(least),
            drawn=lines.span_bar(
                low, share, str(top.evidence.grade), best.value / of if best is not None and of > 0 else None
            )
            if share is not None and row.main
            else "",
            near=_near(top),
            published=view.figure_of(index, top, view.PUBLISHED) if best is not None else "",
            within=view.interval_text(top),
            faint=view.faint(top),
            note=note,
            systems=systems,
            other=others.get((index, top.id)),
        )
    worst = cell.bad[0] if cell.bad else cell.cases[0]
    alike = len(counts) == 1 and len(cell.bad) > 1
    return Shown(
        text=note if alike else str(worst.status),
        title=numbers.clean(worst.reason_text or str(worst.reason) or "no reason was recorded", 300),
        address=view.figure_of(index, worst, view.SHARE),
        status=str(worst.status),
        note=note if len(counts) > 1 else "",
        systems=systems,
    )


def _least(least: Measurement | None) -> str:
    if least is None:
        return ""
    if least.judgement is not None:
        return numbers.percent(least.judgement.fraction)
    return view.value_text(least)


def _near(top: Measurement) -> str:
    """`kernel · 61–72 %`: "" where nothing is emulated."""
    interval = view.expect_share(top) if top.judgement else view.expect_text(top)
    return " · ".join(filter(None, (nearness_of(top), interval)))


def _why(each: Measurement) -> str:
    return ": ".join(filter(None, (str(each.reason), each.reason_text)))


def _causes(each: Measurement) -> str:
    causes = each.judgement.causes if each.judgement else ()
    return "; ".join(cause for cause in causes if cause not in each.reason_text)


def _skips(run: Run) -> list[tuple[str, str, str, int]]:
    """Why cases were skipped: reason, kernels, systems, count; the commonest first."""
    skipped = (case for case in run.measurements if case.status is Status.SKIPPED)
    groups = grouped(skipped, lambda case: case.reason_text or "no reason was recorded")
    return [
        (
            reason,
            numbers.listed(list(dict.fromkeys(numbers.clean(case.case.kernel, 60) for case in found))),
            numbers.listed(list(dict.fromkeys(numbers.clean(case.case.instance, 60) for case in found))),
            len(found),
        )
        for reason, found in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]


def _loud(run: Run) -> list[tuple[str, list[list[Measurement]]]]:
    """Suspect and failed cases, and inconclusive ones, each kind with its heading. Those whose reasons differ
    by their figures alone stand together: a busy machine disturbs every case."""
    kinds = (
        ("Suspect and failed", board.BAD),
        ("Inconclusive: not steady enough to judge", (Status.INCONCLUSIVE,)),
    )
    listed = []
    for heading, statuses in kinds:
        cases = (case for case in run.measurements if case.status in statuses)
        alike = grouped(cases, lambda case: (str(case.status), _FIGURES.sub("#", _why(case)), _causes(case)))
        if alike:
            listed.append((heading, list(alike.values())))
    return listed


NAMED = 12
"""Cases of one cause that are named."""
_FIGURES = re.compile(r"[0-9][0-9.,]*")
