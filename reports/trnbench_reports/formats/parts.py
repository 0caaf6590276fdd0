"""Parts of the page to paste elsewhere: SVG for slides and READMEs, Markdown for issues."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from trnbench import Headline, Run, UsageError, headline
from trnbench_reports import board, numbers, opportunities
from trnbench_reports.charts.figure import Figure
from trnbench_reports.drawing import document, placed, words_at
from trnbench_reports.formats import markdown
from trnbench_reports.sections import generations, links, losses, scoreboard
from trnbench_reports.sections import headline as first

WIDTH = 1180
"""Pixels, of every drawing."""
_ROW, _LOW = 27, 24
_EDGE = 20


def headline_svg(runs: Sequence[Run], answers: Sequence[Headline] = ()) -> bytes:
    """The sentences and bars of the first screen. Raises `UsageError` for runs without a line."""
    answers = answers or [headline(run) for run in runs]
    if not any(answer.cards for answer in answers):
        raise _nothing("headline")
    body, y = [words_at(_EDGE, 32, first.question(runs), "large"), *_legend(60)], 84
    sources: dict[str, None] = {}
    for index, (run, answer) in enumerate(zip(runs, answers, strict=True)):
        for card in answer.cards:
            shown = first.shown_card(index, run, card)
            line = (
                f'<rect x="20" y="{y - 8}" width="{WIDTH - 40}" height="2" fill="var(--g{shown["colour"]})"/>'
            )
            body += [line, words_at(_EDGE, y + 14, card.sentence, "strong")]
            y += 28
            for row in shown["rows"]:
                if not row.further:
                    body += _bar(row, y)
                    y += _ROW
                    if row.part and row.published:
                        body += _part(row, y)
                        y += _ROW
                sources.setdefault(row.of_document)
            y += 16
    promised = numbers.listed([source for source in sources if source][:4])
    return _drawn("headline", runs, body, y, f"promised by {promised}; " if promised else "")


def _legend(y: int) -> list[str]:
    """The marks of a bar in words."""
    marks = (
        (40, f'<rect class="band" x="20" y="{y - 10}" width="12" height="12"/>', "expected"),
        (158, f'<circle class="result" cx="146" cy="{y - 4}" r="4.5"/>', "result"),
        (278, f'<line class="promise" x1="266" x2="266" y1="{y - 11}" y2="{y + 3}"/>', "promised"),
        (398, f'<line class="other" x1="386" x2="386" y1="{y - 8}" y2="{y}"/>', "another document"),
        (558, f'<line class="clock" x1="546" x2="546" y1="{y - 11}" y2="{y + 3}"/>', "clocks allow"),
        (
            694,
            f'<path class="diamond" d="M680 {y - 10}L686 {y - 4}L680 {y + 2}L674 {y - 4}Z"/>',
            "best published",
        ),
        (830, "", "grey: no evidence near"),
    )
    return [shape + words_at(x, y, text, "soft") for x, shape, text in marks]


def _bar(row: first.Shown, y: int) -> list[str]:
    """One row of a card: its name, its bar, what to expect, the result and the promise."""
    kind = "soft" if row.faint else ""
    name = words_at(_EDGE, y + 17, row.row.name, kind or "strong")
    marks = [name, words_at(128, y + 17, row.short, "soft")]
    if row.got is None:
        return [*marks, words_at(690, y + 17, row.row.clause, "soft")]
    if row.bar:
        bar = placed(str(row.bar), 350, y, 320)
        marks.append(f'<g class="faint">{bar}</g>' if row.faint else bar)
    expect = words_at(690, y + 17, row.expect.text if row.expect else "no band", kind or "strong")
    promise = words_at(965, y + 17, "" if row.repeats else row.promise, "soft")
    return [*marks, expect, words_at(862, y + 17, (row.time or row.got).text, kind), promise]


def _part(row: first.Shown, y: int) -> list[str]:
    """The best published of a part of the device, in a row of its own."""
    assert row.published is not None
    return [
        words_at(_EDGE, y + 17, row.part, "strong"),
        words_at(128, y + 17, row.short, "soft"),
        placed(str(row.part_bar), 350, y, 320),
        words_at(862, y + 17, row.published.text),
    ]


def headline_md(runs: Sequence[Run]) -> bytes:
    """The sentences of the headline."""
    return _md([line for run in runs for line in markdown.sentences(run)])


def scoreboard_svg(runs: Sequence[Run]) -> bytes:
    """The main row of each kernel."""
    title = "Per cent of the documented peak: least and best of each sweep"
    body, y = [words_at(_EDGE, 30, title, "strong")], 56
    left = 480
    for run in runs:
        names = board.generations(run)
        wide = (WIDTH - left - _EDGE) / max(len(names), 1)
        body += [words_at(left + wide * at, y, name, "strong") for at, name in enumerate(names)]
        y += _LOW
        for kernel, rows in board.groups(run):
            row = rows[0]
            shown = scoreboard.cells(0, row)
            if not any(cell and cell.letter for cell in shown):
                continue
            body += [words_at(_EDGE, y, kernel), words_at(190, y, row.variant.label, "soft")]
            for column, cell in enumerate(shown):
                if cell is None:
                    continue
                least = f"{cell.least} – " if cell.least else ""
                text = f"{least}{cell.text} {cell.letter}".rstrip()
                body.append(words_at(left + wide * column, y, text, "soft" if cell.faint else ""))
                if cell.drawn:
                    body.append(placed(str(cell.drawn), left + wide * column, y + 3, wide - 60))
            y += _LOW
        y += 16
    return _drawn("scoreboard", runs, body, y)


def scoreboard_md(runs: Sequence[Run]) -> bytes:
    """The board as a table."""
    return _md([line for run in runs for line in markdown.table(run)])


def losses_svg(runs: Sequence[Run]) -> bytes:
    """Where the time of the kernels goes that are furthest from their peak."""
    body, y = [words_at(_EDGE, 30, "Where the time goes", "strong")], 60
    for run in runs:
        for loss in losses.drawn(opportunities.chosen(run)):
            shown, name = losses.bar(loss), loss.case.case.kernel
            body += [words_at(_EDGE, y, name, "strong"), words_at(_EDGE, y + 15, shown.where, "soft")]
            body.append(placed(str(shown.bar), 460, y - 10, 700))
            causes = ", ".join(f"{name} {share}" for name, share in shown.causes[:2])
            share = numbers.percent(opportunities.fraction(loss))
            reached = f"at the peak {share}{f', {causes}' if causes else ''}"
            body.append(words_at(460, y + 18, reached, "soft"))
            y += 46
    return _drawn("losses", runs, body, y)


def losses_md(runs: Sequence[Run]) -> bytes:
    """The largest opportunities as a table."""
    lines = ["| kernel | generation | cause | if fixed | of its time |", "|---|---|---|---:|---:|"]
    for run in runs:
        for opportunity in opportunities.of(opportunities.chosen(run))[: losses.SHOWN]:
            key = opportunity.case.case
            cells = (
                key.kernel,
                key.generation,
                opportunity.cause,
                f"−{numbers.show(opportunity.seconds, 's')}",
            )
            lines.append(
                f"| {' | '.join(map(markdown.plain, cells))} | {numbers.percent(opportunity.share)} |"
            )
    return _md(lines if len(lines) > 2 else [])


def links_svg(runs: Sequence[Run]) -> bytes:
    """The collective that leads each kind of ranks, one below the other."""
    return _charts("links", runs, links.figures)


def generations_svg(runs: Sequence[Run]) -> bytes:
    """Gain got against gain promised, of one device and of one core."""
    return _charts("generations", runs, generations.figures)


def _charts(name: str, runs: Sequence[Run], figures: Callable[[int, Run], Iterable[Figure]]) -> bytes:
    """Of all runs, one below the other."""
    body: list[str] = []
    y = 20
    for index, run in enumerate(runs):
        for figure in figures(index, run):
            y, charts = _chart(figure, y)
            body += charts
    return _drawn(name, runs, body, y)


def _chart(figure: Figure, y: int) -> tuple[int, list[str]]:
    """A chart with its finding and its legend, from `y` down; and where the next one begins."""
    drawn = str(figure.drawing)
    size = re.search(r'width="(\d+)" height="(\d+)"', drawn)
    assert size is not None
    wide, high = int(size[1]), int(size[2])
    shapes = [words_at(_EDGE, y + 14, figure.title, "strong"), placed(drawn, _EDGE, y + 30, wide)]
    y += 50 + high
    x = float(_EDGE)
    for series in figure.series:
        if x + 18 + _LETTER * len(series.name) > WIDTH - _EDGE:
            x, y = float(_EDGE), y + 20
        colour = "var(--fg)"
        if series.colour is not None:
            kind = "g" if isinstance(series.colour, int) else "c-"
            colour = f"var(--{kind}{series.colour})"
        shapes.append(f'<text x="{x:g}" y="{y}"><tspan fill="{colour}">{series.symbol}</tspan></text>')
        shapes.append(words_at(x + 18, y, series.name))
        x += 36 + _LETTER * len(series.name)
    shapes.append(words_at(_EDGE, y + 20, figure.caption, "soft"))
    return y + 40, shapes


_LETTER = 8.2
"""Pixels of a letter in the widest of the fonts that a reader may have."""


def _drawn(name: str, runs: Sequence[Run], body: Sequence[str], height: float, sources: str = "") -> bytes:
    if len(body) < 2:
        raise _nothing(name)
    run = ", ".join(run.id for run in runs)
    note = words_at(20, height + 8, f"{sources}trnbench, run {numbers.clean(run, 100)}", "soft")
    return document(f"trnbench {name} of {run}", "".join([*body, note]), WIDTH, int(height) + 22)


def _md(lines: Sequence[str]) -> bytes:
    if not lines:
        raise _nothing("part")
    return ("\n".join(lines).rstrip() + "\n").encode()


def _nothing(name: str) -> UsageError:
    return UsageError(
        f"these runs have nothing to show as {name}",
        cause="no case of theirs gave what it is made of",
        try_="trnbench report: the whole page, which says what is missing",
    )
