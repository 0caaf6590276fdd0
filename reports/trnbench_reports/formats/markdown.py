"""Headline and scoreboard as Markdown: for a pull request or a ticket."""

from __future__ import annotations

from collections.abc import Sequence

from trnbench import Run, headline
from trnbench_reports import board, numbers
from trnbench_reports.sections.scoreboard import Shown, cells

_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>()#+!|~"})


def write(runs: Sequence[Run]) -> bytes:
    """Every word from the data is escaped: it cannot become a link, a tag or a table cell."""
    lines = ["# trnbench", ""]
    for run in runs:
        lines += _run(run)
    return ("\n".join(lines).rstrip() + "\n").encode("utf-8")


def _run(run: Run) -> list[str]:
    counts = ", ".join(f"{count:,} {status}" for status, count in run.counts().items() if count)
    lines = [
        f"Run {plain(run.id)}, {plain(run.created)}, trnbench {plain(run.tool_version)}; "
        f"{len(run.measurements):,} cases: {counts}.",
        "",
    ]
    return [*lines, *sentences(run), "", *table(run), ""]


def sentences(run: Run) -> list[str]:
    """The headline as a list, what must not be hidden below it."""
    summary = headline(run)
    return [
        *(f"- {plain(text.text, 2400)}" for _, text in summary.said),
        *(f"- {plain(system)}: **{bad.upper()}**" for system, bad in summary.alarms),
        *(
            f"- {plain(sentence)}"
            for sentence in (summary.silence, summary.footnote, summary.means)
            if sentence
        ),
    ]


def table(run: Run) -> list[str]:
    """The scoreboard."""
    names = [plain(name) for name in board.generations(run)]
    lines = [f"| kernel | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    for kernel, rows in board.groups(run):
        for row in rows:
            if row.main or row.variant == rows[0].variant:
                label = plain(f"{kernel} {row.variant.label}".strip())
                lines.append(f"| {label} | {' | '.join(_cell(cell) for cell in cells(0, row))} |")
    lines += [
        "",
        "Least and best of each sweep in per cent of the documented peak. "
        "M measured, E emulated, P published, D documented, F derived.",
    ]
    return lines


def _cell(cell: Shown | None) -> str:
    if cell is None:
        return ""
    least = f"{plain(cell.least)} – " if cell.least else ""
    within = f" {plain(cell.within)}" if cell.within else ""
    near = f"; {plain(cell.near)}" if cell.near else ""
    systems = f" ({plain(cell.systems)})" if cell.systems else ""
    shout = f" **{plain(cell.note).upper()}**" if cell.note else ""
    return f"{least}{plain(cell.text)} {cell.letter}".rstrip() + within + near + systems + shout


def plain(text: object, limit: int = 300) -> str:
    """Words that stay words: nothing in them is Markdown or HTML."""
    return numbers.clean(text, limit).replace("\n", " ").translate(_SPECIAL)
