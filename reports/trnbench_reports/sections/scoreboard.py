"""Section 2: kernels against systems, per cent of the documented peak."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trnbench import Measurement, Run, Status, SystemRecord, nearness_of
from trnbench_reports import numbers, view, words
from trnbench_reports.beside import Beside, beside
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

Variant = tuple[str, str, str]  # reach, dtype, what is counted where that is not the kernel's usual metric
_COUNTED = {"network_bytes_per_s": "bytes of a host on the network", "busbw_bytes_per_s": "bus bandwidth"}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One number of the board. `fraction` draws the bar; without one the value stands alone."""

    text: str
    title: str
    anchor: str = ""
    letter: str = ""
    grade: str = ""
    fraction: float | None = None
    status: str = ""
    note: str = ""  # "2 suspect": what a best-of must not hide
    near: str = ""  # the class of the nearest published evidence, and what to expect by its band
    within: str = ""  # "±2 %", between the processes of a measured case
    faint: bool = False  # emulated, without a band
    other: Beside | None = None  # the same case in the other run of the page
    data: tuple[tuple[str, str], ...] = ()  # data type, evidence, status: what filters look at

    @property
    def width(self) -> str:
        """Of the bar, in per cent of the cell, never beyond it."""
        return f"{min(max(self.fraction or 0, 0), 1) * 100:.1f}%"


@dataclass(frozen=True, kw_only=True)
class Row:
    kernel: str
    label: str
    cells: tuple[Cell | None, ...]
    main: bool


def render(runs: Sequence[Run]) -> Markup:
    parts = []
    others = beside(runs)
    for index, run, heading in view.each_run(runs):
        records = [
            r for r in view.systems(run) if any(m.case.instance == r.instance for m in run.measurements)
        ]
        low = run.counts()[Status.DOCUMENT_LOW]
        made = groups(index, run, records, others)
        parts.append((heading, records, made, _usual(made), _skips(run), _loud(index, run), low))
    return fill(
        "scoreboard",
        parts=parts,
        colour={
            (run.id, r.instance): view.colour(run, r.generation) for run in runs for r in view.systems(run)
        },
        runs=runs,
    )


def groups(
    index: int,
    run: Run,
    records: Sequence[SystemRecord],
    others: Mapping[tuple[int, str], Beside] = {},
) -> list[tuple[str, list[Row]]]:
    """Rows by kernel: the main one first, every other scope and data type below it.

    A row has one metric: what a cluster's collectives put on the network stands apart from the bus bandwidth
    of one scale-up domain.
    """
    own = {record.instance: record for record in records}
    made = []
    for kernel, found in view.by_kernel(run.measurements).items():
        table: dict[Variant, dict[str, list[Measurement]]] = defaultdict(lambda: defaultdict(list))
        usual = Counter(each.primary for each in found if each.primary).most_common(1)
        for each in found:
            reach = view.reach(own.get(each.case.instance), each.case.scope)
            other = each.primary if usual and each.primary not in ("", usual[0][0]) else ""
            counted = _COUNTED.get(other, other.replace("_", " "))
            table[reach, each.case.dtype, counted][each.case.instance].append(each)
        main = _main(table)
        order = sorted(
            table, key=lambda v: (v[:2] != main[:2], v != main, _REACH.get(v[0], 1), v[1] != main[1], v[2])
        )
        rows = []
        for variant in order:
            cells = []
            for record in records:
                here = table[variant].get(record.instance, [])
                rest = [each for each in found if each.case.instance == record.instance]
                cells.append(_cell(index, here, rest if variant == main else here, others))
            reach, dtype, counted = variant
            label = " · ".join(filter(None, (dtype, reach, counted)))
            leads = variant[:2] == main[:2]
            rows.append(Row(kernel=kernel, label=label, cells=tuple(cells), main=leads))
        made.append((kernel, rows))
    return made


_REACH = {"whole system": 0, "cluster": 1, "ultraserver": 2, "instance": 3, "device": 4, "core": 6}


def _main(table: dict[Variant, dict[str, list[Measurement]]]) -> Variant:
    """The widest scope, in the data type the documents lead with."""
    widest = min((reach for reach, _, _ in table), key=lambda reach: _REACH.get(reach, 5))
    wanted = view.preferred_dtype(
        [
            each
            for (reach, _, _), by in table.items()
            if reach == widest
            for cases in by.values()
            for each in cases
        ]
    )
    return next((each for each in sorted(table) if each[:2] == (widest, wanted)), next(iter(table)))


def _cell(
    index: int,
    here: Sequence[Measurement],
    all_of_kernel: Sequence[Measurement],
    others: Mapping[tuple[int, str], Beside],
) -> Cell | None:
    bad = [each for each in all_of_kernel if each.status in (*_BAD, Status.INCONCLUSIVE)]
    bad.sort(key=lambda each: each.status is Status.INCONCLUSIVE)
    counts = Counter(str(each.status) for each in bad)
    note = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    top = view.best(here)
    if top is not None:
        share = top.judgement.fraction if top.judgement else None
        return Cell(
            text=numbers.percent(share) if share is not None else view.value_text(top),
            title=view.tooltip(top),
            anchor=view.anchor(index, bad[0] if bad and not here else top),
            letter=top.evidence.grade.letter,
            grade=str(top.evidence.grade),
            fraction=share,
            status=str(top.status),
            note=note,
            near=_near(top),
            within=view.interval_text(top),
            faint=view.faint(top),
            other=others.get((index, top.id)),
            data=_data(top),
        )
    if not here and not bad:
        return None
    worst = bad[0] if bad else here[0]
    return Cell(
        text=str(worst.status),
        title=words.clean(worst.reason_text or str(worst.reason) or "no reason was recorded", 300),
        anchor=view.anchor(index, worst),
        status=str(worst.status),
        note=note if len(bad) > 1 else "",
        data=_data(worst),
    )


def _near(top: Measurement) -> str:
    """`kernel · 61–72 %`: "" where nothing is emulated."""
    interval = view.expect_share(top) if top.judgement else view.expect_text(top)
    return " · ".join(filter(None, (nearness_of(top), interval)))


def _causes(each: Measurement) -> str:
    causes = each.judgement.causes if each.judgement else ()
    return "; ".join(cause for cause in causes if cause not in each.reason_text)


def _data(each: Measurement) -> tuple[tuple[str, str], ...]:
    return (
        ("d", words.clean(each.case.dtype, 40)),
        ("e", str(each.evidence.grade)),
        ("t", str(each.status)),
    )


def _usual(groups: Sequence[tuple[str, list[Row]]]) -> dict[str, str]:
    """What most cells have stands once at the board; page.js gives it back to the cells."""
    cells = [cell for _, rows in groups for row in rows for cell in row.cells if cell is not None]
    counts = Counter(pair for cell in cells for pair in cell.data)
    return {
        name: max(
            (pair for pair in counts if pair[0] == name), key=lambda pair: counts[pair], default=("", "")
        )[1]
        for name in "det"
    }


def _skips(run: Run) -> list[tuple[str, str, str, int]]:
    """Why cases were skipped: reason, kernels, systems, count; the commonest first."""
    groups: dict[str, list[Measurement]] = defaultdict(list)
    for each in run.measurements:
        if each.status is Status.SKIPPED:
            groups[each.reason_text or "no reason was recorded"].append(each)
    return [
        (
            reason,
            words.listed(list(dict.fromkeys(words.clean(each.case.kernel, 60) for each in found))),
            words.listed(list(dict.fromkeys(words.clean(each.case.instance, 60) for each in found))),
            len(found),
        )
        for reason, found in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]


_BAD = (Status.SUSPECT, Status.FAILED)


def _loud(index: int, run: Run) -> list[tuple[str, list[tuple[str, str, Measurement, str]]]]:
    """Suspect and failed cases, and inconclusive ones, each kind with its heading: anchor, name, measurement,
    likely causes that its reason does not say."""
    kinds = (
        ("Suspect and failed", _BAD),
        ("Inconclusive: not steady enough to judge", (Status.INCONCLUSIVE,)),
    )
    told = [
        (
            heading,
            [
                (view.anchor(index, each), words.clean(each.id, 200), each, _causes(each))
                for each in run.measurements
                if each.status in statuses
            ],
        )
        for heading, statuses in kinds
    ]
    return [each for each in told if each[1]]
