"""Each sort of link: what a document gives or the model assumes, what it makes of it, what somebody got."""

from __future__ import annotations

from collections.abc import Sequence

from trnbench import Comparison, Grade, Measurement, Metric, Record, Run, Scope, SystemRecord
from trnbench_reports import numbers, view

PAIRS = ("point_to_point", "remote_memory_read", "host_to_device", "device_to_host")
"""Kernels whose bytes cross one sort of link alone."""
FAMILIES = ("host-copy", "point-to-point")
"""Families of published points that are about one link."""
_RATES = ("link_bytes_per_s", "host_bytes_per_s")
_COMPARED = ("emulated", "contradicted")
NONE = "none published or stored"


class Figure(Record, kw_only=True):
    """A link's rate in one direction: `documented` in bytes per second, 0 where no document gives one, with
    its arithmetic; else what is `assumed`, with its range, and why."""

    documented: float = 0.0
    basis: str = ""
    assumed: str = ""
    why: str = ""


class Row(Record, kw_only=True):
    """Cells as text; `anchor` is the case of the model. Shares: of the document's figure, the model's.

    What is assumed has a cell of its own, and no share is taken of it.
    """

    link: str
    about: str
    anchor: str
    figure: Figure
    emulated: str
    emulated_share: str
    got: str
    got_share: str
    source: str


def tables(index: int, run: Run, runs: Sequence[Run]) -> list[tuple[str, str, list[Row]]]:
    """(system, evidence of the emulated column, rows) of every system whose pairs were run."""
    listed = []
    shown: set[str] = set()  # published points already shown
    measured = [
        measurement
        for run_ in runs
        for measurement in run_.measurements
        if measurement.evidence.grade is Grade.MEASURED and measurement.status in view.GOOD
    ]
    pairs = [
        measurement
        for measurement in run.measurements
        if measurement.case.kernel in PAIRS and measurement.status in view.GOOD
    ]
    for record in view.systems(run):
        best = _best(pairs, record)
        rows = [_row(index, run, record, case, measured) for case in best]
        rows += _published(run, record, shown, has_links=bool(best))
        if rows:
            marks = dict.fromkeys(str(case.evidence.grade) for case in best)
            listed.append((numbers.clean(record.instance, 60), numbers.listed(list(marks)), rows))
    return listed


def _best(pairs: Sequence[Measurement], record: SystemRecord) -> list[Measurement]:
    """Of each kernel and reach the case of one link that came furthest."""
    fastest: dict[tuple[str, str], Measurement] = {}
    for pair in pairs:
        rate = _rate(pair)
        # Copies of all devices at once count every device's link.
        at_once = pair.case.scope.rank > Scope.DEVICE.rank and record.devices > 1
        if (
            pair.case.instance != record.instance
            or rate is None
            or (pair.case.kernel in PAIRS[2:] and at_once)
        ):
            continue
        key = pair.case.kernel, str(pair.case.point.get("reach", ""))
        held = fastest.get(key)
        before = _rate(held) if held is not None else None
        if before is None or rate.value > before.value:
            fastest[key] = pair
    return list(fastest.values())


def _rate(case: Measurement) -> Metric | None:
    return next((case.metrics[name] for name in _RATES if name in case.metrics), None)


def _row(
    index: int, run: Run, record: SystemRecord, case: Measurement, measured: Sequence[Measurement]
) -> Row:
    rate = _rate(case)
    assert rate is not None
    copied = case.case.kernel in PAIRS[2:]
    name = "host" if copied else case.implementation.rpartition("limited by ")[2]
    figure = _figure(run, record, name) or Figure(basis="no figure stored")
    documented = figure.documented
    got = _measured(case, measured) if case.evidence.grade is not Grade.MEASURED else case
    value = _rate(got) if got is not None else None
    return Row(
        link=numbers.clean(name or "one link", 40),
        about=_about(case),
        anchor=view.figure_of(index, case),
        figure=figure,
        emulated=numbers.show(rate.value, "B/s") if case is not got else "–",
        emulated_share=_shares(rate.value, documented, 0.0) if case is not got else "",
        got=f"{numbers.show(value.value, 'B/s')} {got.evidence.grade}" if value and got else NONE,
        got_share=_shares(value.value, documented, rate.value if case is not got else 0.0) if value else "",
        source=f"{got.evidence.by} {got.evidence.version}".strip() if got else "",
    )


def _about(case: Measurement) -> str:
    """`point_to_point to a neighbour, 1 GiB`."""
    size, reach = case.case.point.get("size"), case.case.point.get("reach")
    shown = numbers.show(float(size), "B") if isinstance(size, int | float) else view.point_text(case)
    reach_words = f", {numbers.clean(reach, 40)}" if reach else ""
    return f"{numbers.clean(case.case.kernel, 40)}{reach_words}, {shown}"


def _shares(value: float, documented: float, emulated: float) -> str:
    """Of what there is to take a share of; "" where there is nothing."""
    parts = [
        f"{numbers.percent(value / base)} of {name}"
        for base, name in ((documented, "documented"), (emulated, "emulated"))
        if base and value
    ]
    return ", ".join(parts)


def _figure(run: Run, record: SystemRecord, name: str) -> Figure | None:
    """Of the links called `name`; None where the run holds no such link."""
    topology = run.topologies.get(record.instance)
    cls = topology.classes.get(name) if topology is not None else None
    if cls is None:
        return None
    rate = cls.bandwidth
    if not rate.assumed:
        return Figure(documented=rate.value, basis=numbers.clean(rate.formula, 120))
    book = run.books.get(record.generation)
    assumption = book.assumptions.get(rate.origin) if book is not None else None
    between = (
        f", plausible {numbers.show(rate.low, 'B/s')} to {numbers.show(rate.high, 'B/s')}"
        if rate.low is not None and rate.high is not None
        else ""
    )
    return Figure(
        basis="no document gives one",
        assumed=f"{numbers.show(rate.value, 'B/s')}{between}",
        why=numbers.clean(
            f"{rate.origin}: {assumption.reason}" if assumption is not None else rate.origin, 200
        ),
    )


def _measured(case: Measurement, measured: Sequence[Measurement]) -> Measurement | None:
    """The same case of a measured run on this page."""
    for each in measured:
        if each.case.instance == case.case.instance and each.case.fullname == case.case.fullname:
            return each
    return None


def _published(run: Run, record: SystemRecord, told: set[str], *, has_links: bool) -> list[Row]:
    """Points of this system, or of its generation where they name none: each is shown once."""
    points = run.fidelity.points if run.fidelity else ()
    names = [system.instance for system in view.systems(run)]
    published = []
    for point in points:
        named = [name for name in names if f" of {name}," in f"{point.how},"]
        if (
            point.family in FAMILIES
            and point.generation == record.generation
            and str(point.use) in _COMPARED
            and point.id not in told
            and (record.instance in named if named else has_links)
        ):
            told.add(point.id)
            published.append(_point(run, record, point))
    return published


def _point(run: Run, record: SystemRecord, point: Comparison) -> Row:
    copied = point.family == "host-copy"
    figure = _figure(run, record, "host" if copied else "") or Figure()
    if point.unit != "B/s":
        figure = Figure(basis="no document gives this time")
    documented = figure.documented
    return Row(
        link="host" if copied else "one rank to another",
        about=numbers.clean(point.how or point.id, 120),
        anchor="",
        figure=figure,
        emulated=numbers.show(point.emulated, point.unit) if point.emulated else "–",
        emulated_share=_shares(point.emulated or 0.0, documented, 0.0),
        got=f"{numbers.show(point.published, point.unit)} published" if point.published else "–",
        got_share=_shares(point.published or 0.0, documented, point.emulated or 0.0),
        source=numbers.clean(point.source, 120),
    )
