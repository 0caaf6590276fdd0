"""Headline and scoreboard as Markdown: for a pull request or a ticket."""

from __future__ import annotations

from collections.abc import Sequence

from trnbench import Run, headline
from trnbench_reports import board, words
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
        f"Run {_plain(run.id)}, {_plain(run.created)}, trnbench {_plain(run.tool_version)}; "
        f"{len(run.measurements):,} cases: {counts}.",
        "",
    ]
    found = headline(run)
    lines += [f"- {_plain(said.text, 2400)}" for _, said in found.said]
    lines += [f"- {_plain(system)}: **{bad.upper()}**" for system, bad in found.alarms]
    lines += [f"- {_plain(each)}" for each in (found.silence, found.footnote, found.means) if each]
    return [*lines, "", *_board(run), ""]


def _board(run: Run) -> list[str]:
    names = [_plain(name) for name in board.generations(run)]
    lines = [
        f"| kernel | {' | '.join(names)} |",
        f"|---|{'---:|' * len(names)}",
    ]
    for kernel, rows in board.groups(run):
        for row in rows:
            if row.main or row.variant == rows[0].variant:
                label = _plain(f"{kernel} {row.variant.label}".strip())
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
    least = f"{_plain(cell.least)} – " if cell.least else ""
    within = f" {_plain(cell.within)}" if cell.within else ""
    near = f"; {_plain(cell.near)}" if cell.near else ""
    where = f" ({_plain(cell.systems)})" if cell.systems else ""
    shout = f" **{_plain(cell.note).upper()}**" if cell.note else ""
    return f"{least}{_plain(cell.text)} {cell.letter}".rstrip() + within + near + where + shout


def _plain(text: object, limit: int = 300) -> str:
    return words.clean(text, limit).replace("\n", " ").translate(_SPECIAL)
