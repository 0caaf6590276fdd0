"""What a run came to: kept, reported, told."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from trnbench.cli.cell import Column, clean
from trnbench.cli.output import emit, emit_json, say, write
from trnbench.cli.report import replacing, run_before
from trnbench.cli.table import escaped
from trnbench.cli.terminal import suits_colours, width
from trnbench.errors import NothingSelected, TrnbenchError
from trnbench.extension import WORKLOAD_FAMILY
from trnbench.results.expectation import nearness_of
from trnbench.results.measurement import Status
from trnbench.results.nearness import Nearness
from trnbench.run.headline.answer import headline
from trnbench.run.output_file import write_whole
from trnbench.run.render import find_format, render_bytes

if TYPE_CHECKING:
    from trnbench.cli.context import Session
    from trnbench.results.run import Run
    from trnbench.run.plan import Plan


REASONS = 5
"""Different ones that are told of a run that skipped every case, the commonest first."""


class Ended(NamedTuple):
    """The run as far as it came, the store that has it, and what ended it early."""

    run: Run
    store: Path
    failure: TrnbenchError | None = None
    strict: bool = False

    @property
    def code(self) -> int:
        """The exit code that its cases make."""
        return int(self.run.exit_code(strict=self.strict))


def tell(shared: Session, planned: Plan, ended: Ended, target: Path | None, format: str) -> int:
    """Its report written, what came of it told; the exit code."""
    done, failure = ended.run, ended.failure
    if done.interrupted:
        target = None
    if target is not None and (unwritten := write_report(shared, done, target)):
        target, failure = None, failure or unwritten
    failure = failure or none_ran(done)
    code = int(failure.exit_code) if failure else ended.code
    _summarise(done, ended.store, target, format, code)
    if done.interrupted:
        cases, kept = len(planned.cases), len(done.measurements)
        say(f"\ninterrupted: {kept} of {cases} cases are kept as run {done.id}")
        say(shared.typed(f"  try:   trnbench resume {done.id}, or: trnbench runs show {done.id}"))
    if failure is not None:
        raise failure
    return code


def none_ran(done: Run) -> TrnbenchError | None:
    """The error of a run in which every case was skipped: nothing came of it, and why."""
    if done.interrupted or not done.all_skipped:
        return None
    total = len(done.measurements)
    reasons = Counter(each.reason_text for each in done.measurements).most_common()
    told = [f"{count:,} × {reason}" for reason, count in reasons[:REASONS]]
    if len(reasons) > REASONS:
        told.append(f"{len(reasons) - REASONS:,} more reasons")
    case = done.measurements[0].case
    where = f"trnbench info {case.kernel}   where it runs"
    if case.family == WORKLOAD_FAMILY:
        where = "trnbench workload info MODEL --task …   where it fits"
    return NothingSelected(
        "the one selected case was skipped" if total == 1 else f"all {total:,} selected cases were skipped",
        cause="; ".join(told),
        try_=f"trnbench runs show {done.id}   says why, case by case; {where}",
    )


def write_report(shared: Session, done: Run, target: Path) -> TrnbenchError | None:
    """Its failure is told after the summary: the run itself is safe."""
    told = replacing(target, (done,))
    try:
        before = run_before(shared.store_path, done)
        html = find_format(shared.registry, "html")
        write_whole(target, render_bytes((done,), html, shared.registry, before=before))
    except TrnbenchError as error:
        return error
    if told:
        say(told, level=0)
    return None


def _summarise(done: Run, store: Path, report: Path | None, format: str, code: int) -> None:
    """What came out, by system and status, where it is, and the headline of its report."""
    by_system: dict[str, dict[str, int]] = {
        name: dict.fromkeys((str(status) for status in Status), 0) for name in done.systems
    }
    for each in done.measurements:
        by_system[each.case.instance][str(each.status)] += 1
    places = {"run": done.id, "store": str(store), "report": str(report) if report else ""}
    statuses = [str(status) for status in Status]
    rows = [
        {"instance": name, "cases": sum(counts.values()), **counts, **places}
        for name, counts in by_system.items()
    ]
    if format == "json":
        emit_json(
            {
                **places,
                "report": places["report"] or None,
                "evidence": str(done.grade),
                "backend": done.backend,
                "cases": len(done.measurements),
                "headline": headline_record(done),
                "counts": {str(status): count for status, count in done.counts().items()},
                "nearness": _by_nearness(done),
                "systems": [{key: row[key] for key in ("instance", "cases", *statuses)} for row in rows],
                "interrupted": done.interrupted,
                "exit_code": code,
            }
        )
        return
    if format == "csv":
        emit(rows, ("instance", "cases", *statuses, *places), format)
        return
    total = {"instance": "all", "cases": len(done.measurements)}
    total |= {str(status): count for status, count in done.counts().items()}
    people = [Column(name, keep=1 if total[name] else 0) for name in statuses]
    emit([*rows, total], ("instance", Column("cases", keep=1), *people), format)
    if near := _by_nearness(done):
        emit(
            [{"nearest evidence": name, "cases": count} for name, count in near.items()],
            ("nearest evidence", "cases"),
            format,
        )
    found = [{"what": what, "where": where} for what, where in places.items() if where]
    emit(found, ("what", "where"), format)
    show_headline(done, format)


def _by_nearness(done: Run) -> dict[str, int]:
    """Class of the nearest published evidence → emulated numbers in it, nearest first; none is left out."""
    counts = Counter(word for each in done.measurements if (word := nearness_of(each)))
    return {str(kind): counts[str(kind)] for kind in Nearness if counts[str(kind)]}


WIDTH = 100
"""Columns where no terminal says how many it has."""
NBSP = "\u00a0"


def show_headline(run: Run, format: str) -> None:
    """Lines for people, or a list in Markdown; tables of data (JSON, CSV) are left alone.

    What has no band is grey where colours suit, and says so in words everywhere.
    """
    if format not in ("table", "md"):
        return
    found = headline(run)
    shades = format == "table" and suits_colours()
    lines = [_item(said.text, format, grey=shades and line.muted) for line, said in found.said]
    told = [*(f"{system}: {bad}" for system, bad in found.alarms), found.silence, found.footnote, found.means]
    lines += [_item(each, format) for each in told if each]
    write("\n" + "\n".join(lines) + "\n")


def _item(text: str, format: str, *, grey: bool = False) -> str:
    text = clean(text)
    if format == "md":
        return f"- {escaped(text)}"
    # A number and its unit stay together.
    bound = re.sub(r"(?<=\d) (?=[%A-Za-zµ])", NBSP, text)
    filled = textwrap.fill(
        bound, (width() or WIDTH) - 1, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
    )
    wrapped = filled.replace(NBSP, " ")
    return click.style(wrapped, fg="bright_black") if grey else wrapped


def headline_record(run: Run) -> dict[str, object]:
    """The same as data: each line's values, with its words as `text`."""
    found = headline(run)
    lines = [{"text": said.text, **msgspec.to_builtins(line)} for line, said in found.said]
    return {**msgspec.to_builtins(found), "lines": lines}
