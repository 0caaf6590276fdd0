"""Headline and scoreboard as Markdown: for a pull request or a ticket."""

from __future__ import annotations

from collections.abc import Sequence

from trnbench import Run, headline
from trnbench_reports import view, words
from trnbench_reports.sections.scoreboard import Cell, groups

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
    records = [r for r in view.systems(run) if any(m.case.instance == r.instance for m in run.measurements)]
    names = [_plain(record.instance) for record in records]
    lines = [
        f"| kernel | {' | '.join(names)} |",
        f"|---|{'---:|' * len(names)}",
    ]
    for kernel, rows in groups(0, run, records):
        for row in rows:
            if row.main:
                label = _plain(f"{kernel} {row.label}".strip())
                lines.append(f"| {label} | {' | '.join(_cell(cell) for cell in row.cells)} |")
    lines += [
        "",
        "Best of each sweep in per cent of the documented peak. "
        "M measured, E emulated, P published, D documented, F derived.",
    ]
    return lines


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    shout = f" **{_plain(cell.note).upper()}**" if cell.note else ""
    within = f" {_plain(cell.within)}" if cell.within else ""
    return f"{_plain(cell.text)} {cell.letter}".rstrip() + within + shout


def _plain(text: object, limit: int = 300) -> str:
    return words.clean(text, limit).replace("\n", " ").translate(_SPECIAL)
