"""The same kernel on one device of each generation: gain got against gain promised, with the documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from trnbench import Measurement, Record, Run, Scope, SystemRecord
from trnbench_reports import numbers, view
from trnbench_reports.charts import figure
from trnbench_reports.charts.figure import Figure
from trnbench_reports.charts.gains import Gain, draw
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

REACHES = ((Scope.DEVICE, "one device"), (Scope.CORE, "one core"))
"""What is compared, each with its own kind: never a device with a core, nor systems of other sizes."""


class Cell(Record, kw_only=True):
    """`promise` is the figure and `document` who gives it; the drawer has what superseded it. `missing` says
    why there is no case."""

    case: Measurement | None = None
    promise: str = ""
    document: str = ""
    gain: str = ""
    missing: str = ""


class Row(Record, kw_only=True):
    kernel: str
    point: str
    cells: tuple[Cell, ...]

    @property
    def promised(self) -> bool:
        """Whether a document says anything of it, on any generation."""
        return any(cell.promise for cell in self.cells)


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing for a page with a single generation."""
    parts = []
    for index, run, heading in view.each_newest(runs):
        reps = representatives(run)
        if len(reps) < 2:
            continue
        tables = []
        for scope, name in REACHES:
            rows, gains = _rows(index, run, reps, scope)
            if rows:
                chart = draw(f"gain-{index}-{scope}", gains, str(scope))
                tables.append((name, rows, figure.show(chart) if chart else ""))
        if tables:
            parts.append((index, heading, [(r, view.colour(run, r.generation)) for r in reps], tables))
    return fill("generations", parts=parts, documents=documents) if parts else ""


def gains(index: int, run: Run, scope: Scope) -> list[Gain]:
    """Of every kernel and type that was run at `scope` on more than one generation."""
    return _rows(index, run, representatives(run), scope)[1]


def figures(index: int, run: Run) -> list[Figure]:
    """The chart of each reach that has gains to show."""
    drawn = (draw(f"gain-{index}-{scope}", gains(index, run, scope), str(scope)) for scope, _ in REACHES)
    return [gain for gain in drawn if gain is not None]


def representatives(run: Run) -> list[SystemRecord]:
    """One system for each generation: the largest single instance, else the smallest larger system.

    Its devices are those of all others.
    """
    chosen: dict[str, SystemRecord] = {}
    ran = {measurement.case.instance for measurement in run.measurements}
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


def _rows(index: int, run: Run, reps: Sequence[SystemRecord], scope: Scope) -> tuple[list[Row], list[Gain]]:
    rows: list[Row] = []
    gains: list[Gain] = []
    for kernel, found in view.by_kernel(run.measurements).items():
        here = _divided([each for each in found if each.case.scope is scope])
        for dtype in dict.fromkeys(each.case.dtype for each in here):
            mine = [each for each in here if each.case.dtype == dtype]
            cells_row = _row(index, run, kernel, dtype, mine, reps, gains)
            if cells_row is not None:
                rows.append(cells_row)
    return rows, gains


def _divided(cases: list[Measurement]) -> list[Measurement]:
    """Those that share one problem, where there are any: what a device does, not what its cores repeat."""
    return [each for each in cases if each.case.division == "sharded"] or cases


def _row(
    index: int,
    run: Run,
    kernel: str,
    dtype: str,
    found: Sequence[Measurement],
    reps: Sequence[SystemRecord],
    gains: list[Gain],
) -> Row | None:
    """The point that most generations ran, and ran best: like is compared with like."""
    table: dict[str, dict[str, Measurement]] = {}
    names = {record.instance for record in reps}
    for each in found:
        if each.case.instance in names:
            table.setdefault(view.point_text(each), {})[each.case.generation] = each

    def merit(point: str) -> tuple[int, float, float]:
        good = [each for each in table[point].values() if each.status in view.GOOD and view.primary(each)]
        judged = sum(each.judgement.fraction for each in good if each.judgement)
        return len(good), judged, sum(view.merit(each) for each in good)

    point = max(table, key=merit, default="")
    # A kernel of one generation alone has no gain to show.
    if not table or merit(point)[0] < 2:
        return None
    cases = table[point]
    first: Measurement | None = None
    cells = []
    name = " ".join(filter(None, (numbers.clean(kernel, 40), dtype)))
    for record in reps:
        case = cases.get(record.generation)
        if case is None or case.status not in view.GOOD or view.primary(case) is None:
            cells.append(Cell(missing=_missing(case, record)))
            continue
        gain = ""
        if first is None:
            first = case
        else:
            gain = _gain(first, case)
            got, promised = _ratios(first, case)
            if got is not None:
                gains.append(
                    Gain(
                        name=name,
                        generation=record.generation,
                        got=got,
                        promised=promised,
                        colour=view.colour(run, record.generation),
                        anchor=view.figure_of(index, case),
                        tooltip=f"{name}: {gain}",
                        case=case.id,
                        first=first.id,
                    )
                )
        promise, document = _promise(run, case)
        cells.append(Cell(case=case, promise=promise, document=document, gain=gain))
    some = next(iter(cases.values()))
    return Row(kernel=name, point=view.point_text(some, without=("dtype",)), cells=tuple(cells))


def _promise(run: Run, case: Measurement) -> tuple[str, str]:
    """`625 TFLOPS` and `seed-trn2 2024`; "" where no document has a figure."""
    if case.judgement is None:
        return "", ""
    peaks = case.judgement.peaks
    unit = numbers.unit_of(peaks.chosen.metric)
    book = run.books.get(case.case.generation)

    source = book.sources.get(peaks.chosen.source) if book is not None else None
    year = (source.date or source.version).partition("-")[0] if source is not None else ""
    named = (numbers.clean(peaks.chosen.source, 40) or "the clocks", numbers.clean(year, 12))
    return numbers.show(peaks.chosen.value, unit), " ".join(filter(None, named))


def documents(rows: Iterable[Row]) -> list[str]:
    """Of each column, the documents that its promises are from."""
    columns = zip(*(row.cells for row in rows), strict=True)
    return [", ".join(dict.fromkeys(cell.document for cell in column if cell.document)) for column in columns]


def _ratios(first: Measurement, case: Measurement) -> tuple[float | None, float | None]:
    """Gain got and gain promised; a shorter time is a gain as well."""
    old, new = view.primary(first), view.primary(case)
    if old is None or new is None or old.value <= 0 or new.value <= 0 or old.unit != new.unit:
        return None, None
    if first.evidence.grade is not case.evidence.grade:
        return None, None
    higher = new.better == "higher"
    got = new.value / old.value if higher else old.value / new.value
    if first.judgement is None or case.judgement is None:
        return got, None
    before, after = first.judgement.peaks.chosen.value, case.judgement.peaks.chosen.value
    if before <= 0 or after <= 0:
        return got, None
    return got, after / before if higher else before / after


def _gain(first: Measurement, case: Measurement) -> str:
    if first.evidence.grade is not case.evidence.grade:
        return f"not compared: {first.evidence.grade} against {case.evidence.grade}"
    got, promised = _ratios(first, case)
    if got is None:
        return "not comparable: other unit"
    since = numbers.clean(first.case.generation, 20)
    if promised is None:
        return f"{numbers.times(got)} of {since}, no gain promised"
    return f"{numbers.times(got)} of {since}, {numbers.times(promised)} promised"


def _missing(case: Measurement | None, record: SystemRecord) -> str:
    if case is None:
        return f"not in this run for {numbers.clean(record.instance, 60)}"
    return f"{case.status}: {numbers.clean(case.reason_text or str(case.reason) or 'no value', 200)}"
