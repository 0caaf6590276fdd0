"""Parts of the page to paste elsewhere: SVG for slides and READMEs, Markdown for issues."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trnbench import HeadlineRow, Run, UsageError, headline
from trnbench_reports import board, numbers, opportunities, view, words
from trnbench_reports.charts import promise
from trnbench_reports.charts.figure import Figure
from trnbench_reports.drawing import document, placed, words_at
from trnbench_reports.formats import markdown
from trnbench_reports.sections import generations, links, losses, scoreboard
from trnbench_reports.sections import headline as first

WIDTH = 1180
"""Pixels, of every drawing."""
_ROW, _LOW = 46, 24


def headline_svg(runs: Sequence[Run]) -> bytes:
    """The cards of the first screen. Raises `UsageError` for runs without a line."""
    body, y = [words_at(20, 32, first.question(runs), "large")], 58
    for run in runs:
        for card in headline(run).cards:
            colour = view.colour(run, card.generation)
            body.append(
                f'<rect x="20" y="{y - 14}" width="{WIDTH - 40}" height="2" fill="var(--g{colour})"/>'
            )
            body.append(words_at(20, y + 6, words.capital(card.device or card.generation), "strong"))
            y += 22
            for row in card.rows:
                body += _bar(first.shown(0, row), row, y)
                y += _ROW
            y += 14
    return _drawn("headline", runs, body, y)


def _bar(shown: first.Shown, row: HeadlineRow, y: int) -> list[str]:
    """One row of a card: its name, its bar, what to expect and the largest loss."""
    kind = "soft" if shown.faint else ""
    caption = f"{shown.clause}{f'; {shown.swept}' if shown.swept else ''}"
    marks = [words_at(20, y + 10, shown.name, "strong"), words_at(20, y + 25, shown.what, "soft")]
    if row.line is not None and shown.bar:
        bar = placed(str(promise.draw(row.line)), 370, y - 4, 355)
        marks.append(f'<g class="faint">{bar}</g>' if shown.faint else bar)
    return [*marks, words_at(750, y + 10, _said(shown), kind), words_at(750, y + 25, caption, "soft")]


def _said(shown: first.Shown) -> str:
    if shown.got is None:
        return shown.clause
    of = f" of {shown.of.text}" if shown.of else ""
    share = f", {shown.share.text}" if shown.share else ""
    if shown.expect:
        return f"expect {shown.expect.text}{of}; {shown.by} {shown.got.text}{share}"
    return f"{shown.by} {shown.got.text}{of}{share}; no interval"


def headline_md(runs: Sequence[Run]) -> bytes:
    """The sentences of the headline."""
    return _md([line for run in runs for line in markdown.sentences(run)])


def scoreboard_svg(runs: Sequence[Run]) -> bytes:
    """The main row of each kernel."""
    body, y = (
        [words_at(20, 30, "Per cent of the documented peak: least and best of each sweep", "strong")],
        56,
    )
    for run in runs:
        names = board.generations(run)
        wide = (WIDTH - 300) / max(len(names), 1)
        body += [words_at(290 + wide * at, y, name, "strong") for at, name in enumerate(names)]
        y += _LOW
        for kernel, rows in board.groups(run):
            row = rows[0]
            shown = scoreboard.cells(0, row)
            if not any(cell and cell.letter for cell in shown):
                continue
            body.append(words_at(20, y, kernel))
            body.append(words_at(150, y, row.variant.label, "soft"))
            for column, cell in enumerate(shown):
                if cell is None:
                    continue
                least = f"{cell.least} – " if cell.least else ""
                text = f"{least}{cell.text} {cell.letter}".rstrip()
                body.append(words_at(290 + wide * column, y, text, "soft" if cell.faint else ""))
                if cell.drawn:
                    body.append(placed(str(cell.drawn), 290 + wide * column, y + 3, wide - 60))
            y += _LOW
        y += 16
    return _drawn("scoreboard", runs, body, y)


def scoreboard_md(runs: Sequence[Run]) -> bytes:
    """The board as a table."""
    return _md([line for run in runs for line in markdown.table(run)])


def losses_svg(runs: Sequence[Run]) -> bytes:
    """Where the time of the kernels goes that are furthest from their peak."""
    body, y = [words_at(20, 30, "Where the time goes", "strong")], 60
    for index, run in enumerate(runs):
        for loss in losses.drawn(opportunities.chosen(run)):
            shown = losses.bar(index, loss)
            body.append(words_at(20, y, shown.name, "strong"))
            body.append(words_at(20, y + 15, shown.where, "soft"))
            body.append(placed(str(shown.bar), 380, y - 10, 780))
            causes = ", ".join(f"{name} {share}" for name, share in shown.causes)
            body.append(
                words_at(380, y + 18, f"at the peak {shown.reached}{f', {causes}' if causes else ''}", "soft")
            )
            y += _ROW
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
    body: list[str] = []
    y = 20
    for index, run in enumerate(runs):
        for figure in links.figures(index, run):
            y, charts = _chart(figure, y)
            body += charts
    return _drawn("links", runs, body, y)


def generations_svg(runs: Sequence[Run]) -> bytes:
    """Gain got against gain promised, of one device and of one core."""
    body: list[str] = []
    y = 20
    for index, run in enumerate(runs):
        for figure in generations.figures(index, run):
            y, charts = _chart(figure, y)
            body += charts
    return _drawn("generations", runs, body, y)


def _chart(figure: Figure, y: int) -> tuple[int, list[str]]:
    """A chart with its finding and its legend, from `y` down; and where the next one begins."""
    drawn = str(figure.drawing)
    size = re.search(r'width="(\d+)" height="(\d+)"', drawn)
    assert size is not None
    beside = int(size[1]) + 50
    shapes = [words_at(20, y + 14, figure.title, "strong"), placed(drawn, 20, y + 30, int(size[1]))]
    for number, series in enumerate(figure.series):
        high = y + 50 + 18 * number
        colour = f"var(--g{series.colour})" if series.colour is not None else "var(--fg)"
        shapes.append(f'<text x="{beside}" y="{high}"><tspan fill="{colour}">{series.symbol}</tspan></text>')
        shapes.append(words_at(beside + 18, high, series.name))
    shapes.append(words_at(beside, y + 62 + 18 * len(figure.series), figure.caption, "soft"))
    return y + int(size[2]) + 60, shapes


def _drawn(name: str, runs: Sequence[Run], body: Sequence[str], height: float) -> bytes:
    if len(body) < 2:
        raise _nothing(name)
    run = ", ".join(run.id for run in runs)
    note = words_at(20, height + 8, f"trnbench, run {words.clean(run, 100)}", "soft")
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
