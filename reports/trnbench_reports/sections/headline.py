"""The first screen: the question, what was run, and a card for each generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trnbench import FactBook, Grade, HeadlineCard, HeadlineLine, HeadlineRow, Record, Run, Scope, headline
from trnbench_reports import glossary, numbers, view
from trnbench_reports.charts import promise
from trnbench_reports.sections.workloads import FAMILY
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup


class Figure(Record, kw_only=True):
    """A number as it is shown and the fragment that explains it."""

    text: str
    address: str


class Shown(Record, kw_only=True):
    """A row of a card, and what the page and a picture of it show; empty strings where there is nothing."""

    row: HeadlineRow
    faint: bool = True
    bar: Markup | str = ""
    got: Figure | None = None
    time: Figure | None = None
    of_document: str = ""
    expect: Figure | None = None
    published: Figure | None = None
    reason: str = ""
    promise: str = ""
    short: str = ""
    part: str = ""
    part_bar: Markup | str = ""
    further: bool = False
    repeats: bool = False


def render(runs: Sequence[Run], since: str = "") -> Markup:
    """`since`: what changed since the run before, as markup, of the last of `runs`."""
    parts = []
    for index, run, heading in view.each_newest(runs):
        answered = headline(run)
        cards = _told_once([shown_card(index, run, card) for card in answered.cards])
        evidence = (_evidence(shown.row) for card in cards for shown in card["rows"])
        parts.append(
            {
                "index": index,
                "heading": heading,
                "run": run,
                "found": answered,
                "cards": cards,
                "terms": glossary.line(f"emulated {' '.join(evidence)}"),
                "counts": [(str(status), n) for status, n in run.counts().items() if n],
                "kernels": len({measurement.case.kernel for measurement in run.measurements}),
                "systems": len({measurement.case.instance for measurement in run.measurements}),
                "by": _by(run),
                "held": _held(run),
            }
        )
    return fill(
        "headline",
        parts=parts,
        question=question(runs),
        since=since,
        what=_what,
        grade=_grade,
        document=_document,
        swept=_swept,
        behind=_behind,
        published_at=_published_at,
    )


def _evidence(row: HeadlineRow) -> str:
    """What is said of it with terms that are explained."""
    line = row.line
    return f"{row.clause}. {_behind(line) if line else ''}. {line.counts if line else ''}"


def question(runs: Sequence[Run]) -> str:
    """The reader's own: "How close does Trainium come to its documents?".

    Of machines without documents "How fast is this machine, and can it be believed?". Of imported numbers of
    such "How fast is it, according to nccl-tests?". Of steps of models alone what these take.
    """
    if all(run.all_skipped for run in runs):
        return "No case could run" if any(run.measurements for run in runs) else "No case was carried out"
    if all(each.case.family == FAMILY for run in runs for each in run.measurements):
        return "How long does a step take, and where does its time go?"
    ran = {each.case.instance for run in runs for each in run.measurements}
    # What a machine says of itself is read when the run is made: no document of a date stands behind it.
    undated = not any(_dated(book) for run in runs for book in run.books.values())
    if undated and all("imported_from" in run.settings for run in runs):
        sources = dict.fromkeys(each.evidence.by for run in runs for each in run.measurements)
        return (
            f"How fast is it, according to {numbers.listed([numbers.clean(by, 40) for by in sources][:4])}?"
        )
    if undated and all(run.grade is Grade.MEASURED for run in runs):
        return "How fast is this machine, and can it be believed?"
    devices = [
        numbers.clean(record.device or record.generation, 40)
        for run in runs
        for record in view.systems(run)
        if record.instance in ran
    ]
    names = list(dict.fromkeys(each.rstrip("0123456789") or each for each in dict.fromkeys(devices)))
    if len(set(devices)) == 1:
        names = devices[:1]
    devices_words = numbers.listed([numbers.capital(each) for each in names[:4]]) or "this machine"
    verb, its = ("do", "their") if len(names) > 1 else ("does", "its")
    return f"How close {verb} {devices_words} come to {its} documents?"


def _dated(book: FactBook) -> bool:
    return any(source.date for source in book.sources.values())


def _by(run: Run) -> str:
    """`emulated by trnbench schedule + flows 7`, or how else."""
    makers = dict.fromkeys(
        " ".join(filter(None, (f"{each.evidence.grade} by {each.evidence.by}", each.evidence.version)))
        for each in run.measurements
        if each.time_s is not None and each.evidence.grade is not Grade.DERIVED
    )
    return numbers.listed([numbers.clean(each, 80) for each in list(makers)[:3]])


def _held(run: Run) -> str:
    """What bands rest on."""
    if run.fidelity is None or not run.fidelity.points:
        return ""
    kernels = {point.vote for point in run.fidelity.points if point.vote}
    return (
        f"bands from {numbers.plural(len(run.fidelity.points), 'published point')} of "
        f"{numbers.plural(len(kernels), 'kernel')}, streams and collectives"
    )


def shown_card(index: int, run: Run, card: HeadlineCard) -> dict[str, Any]:
    return {
        "name": numbers.capital(numbers.clean(card.device or card.generation, 40)),
        "colour": view.colour(run, card.generation),
        "sentence": numbers.clean(card.sentence, 300),
        "rows": _further([shown(index, row) for row in card.rows]),
    }


def _further(rows: list[Shown]) -> list[Shown]:
    """Of rows with one name the first stands on the screen; the others are one tap away. A promise that
    stands above is not repeated."""
    names, promises = set[str](), set[str]()
    marked = []
    for row in rows:
        again = row.promise in promises
        marked.append(replace(row, further=row.row.name in names, repeats=again))
        names.add(row.row.name)
        promises.add(row.promise)
    return marked


def _told_once(cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A reason that several rows share is told with the first of them."""
    sentences: set[str] = set()
    for card in cards:
        rows = []
        for row in card["rows"]:
            rows.append(replace(row, reason="as above") if row.reason in sentences else row)
            sentences |= {row.reason} - {""}
        card["rows"] = rows
    return cards


def shown(index: int, row: HeadlineRow) -> Shown:
    line = row.line
    if line is None:
        return Shown(row=row)
    case = line.sweep.case

    def figure(text: str, metric: str) -> Figure:
        return Figure(text=text, address=view.figure_by_id(index, case, metric))

    unit, sweep, step = line.sweep.unit, line.sweep, line.step
    part = line.of_core
    return Shown(
        row=row,
        short=_short(line, row.name),
        faint=line.muted,
        bar=promise.draw(line) if sweep.better == "higher" else "",
        got=figure(numbers.show(sweep.best, unit), sweep.metric),
        time=figure(numbers.show(step.time_s, "s"), view.TIME) if step else None,
        of_document=_document(line.of.source, line.of.date) if line.of else "",
        expect=figure(_between(line), view.EXPECT) if line.expected else None,
        published=_published(index, line),
        reason=line.reason,
        promise=(line.of.figure or numbers.show(line.of.value, unit)) if line.of else "",
        part=part.where.removeprefix("on ").removeprefix("a ") if part else "",
        part_bar=promise.draw_part(part) if part else "",
    )


def _what(line: HeadlineLine) -> str:
    """`bf16 product, one device`; of a fabric its system and who takes part."""
    name = line.called
    if line.ranks:
        return f"{name}, {', '.join(line.systems)}, {line.ranks}"
    if line.scope.rank <= Scope.DEVICE.rank and line.whole and line.question != "kernel":
        return f"{name}, one {str(line.scope).replace('-', ' ')}"
    return f"{name}, {', '.join(line.systems)}"


_SHORT = {
    "product": "product",
    "attention": "",
    "decode step": "",
    "stream": "copy",
    "all-reduce": "all-reduce",
}


def _short(line: HeadlineLine, name: str) -> str:
    """What a row of this name measures in a word or two, where the name and the card say the rest."""
    if line.step is not None:
        return f"{line.dtype}, {numbers.show(line.step.tokens_per_s, 'token/s')}"
    word = _SHORT.get(line.question, line.called)
    if line.question == "kernel" and not line.ranks and line.scope.rank <= Scope.DEVICE.rank:
        return f"{word}, one {str(line.scope).replace('-', ' ')}"
    words = ([] if word == name else [word]) + ([line.systems[0]] if line.ranks else [])
    return ", ".join(words)


def _grade(line: HeadlineLine) -> str:
    return "model" if line.grade is Grade.EMULATED else str(line.grade)


def _document(source: str, date: str) -> str:
    return " ".join(filter(None, (numbers.clean(source, 60) or "the clocks", date.partition("-")[0])))


def _swept(line: HeadlineLine) -> str:
    sweep = line.sweep
    if sweep.points == 1:
        return f"at {sweep.over}" if sweep.over else ""
    at = f"at {sweep.at}, " if sweep.at else ""
    over = sweep.over or f"{sweep.points} cases"
    return f"{at}best of {over}, from {numbers.show(sweep.worst, sweep.unit)}"


def _between(line: HeadlineLine) -> str:
    assert line.expected is not None
    ends, unit = line.expected, line.sweep.unit
    if line.step is not None and line.step.expected_s is not None:
        ends, unit = line.step.expected_s, "s"
    low, high = (numbers.show(bound, unit) for bound in ends)
    return view.ranged(low, high)


def _behind(line: HeadlineLine) -> str:
    if line.expected is None:
        return ""
    votes = (
        numbers.plural(line.votes, "vote") if line.votes else f"no vote, the band of {line.widened or 'all'}"
    )
    widened = "widened" if line.votes and line.widened else ""
    return ", ".join(filter(None, (line.nearness, votes, widened, line.band_note)))


def _published(index: int, line: HeadlineLine) -> Figure | None:
    if line.of_core is not None:
        best, case = line.of_core.published, line.of_core.case
    elif line.published is not None and line.published.metric == line.sweep.metric:
        best, case = line.published, line.sweep.case
    else:
        return None
    return Figure(
        text=numbers.show(best.value, best.unit), address=view.figure_by_id(index, case, view.PUBLISHED)
    )


def _published_at(line: HeadlineLine) -> str:
    """Where that stands when it is not the very same: on one core and its share of that, at another size."""
    if line.of_core is not None:
        return f"{line.of_core.where}, {numbers.percent(line.of_core.fraction)} of its peak"
    best = line.published
    return f"at {best.at}" if best is not None and best.at and not best.reaches else ""
