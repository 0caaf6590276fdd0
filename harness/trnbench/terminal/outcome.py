"""What a run came to: kept, reported, told."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from trnbench.errors import NothingSelected, TrnbenchError, counted
from trnbench.extension import WORKLOAD_FAMILY
from trnbench.results.measurement import GOOD, Nearness, Status, status_words
from trnbench.results.run import Run
from trnbench.terminal.cell import WANTED, Column, clean
from trnbench.terminal.context import Session
from trnbench.terminal.output import emit, emit_json, mention, say, write
from trnbench.terminal.result_table import MOST, results_of, row_of, short_answer, show_results
from trnbench.terminal.screen import suits_colours, width
from trnbench.terminal.table import escaped

if TYPE_CHECKING:
    from trnbench.run.plan import Plan
    from trnbench.store.entry import Entry


REASONS = 5
"""Different ones that are told of a run that skipped every case, the commonest first."""


_WELL = {str(status) for status in (*GOOD, Status.SKIPPED)}


class Tally:
    """How many cases of each system came to what, and how near published evidence stands to them."""

    def __init__(self) -> None:
        self.systems: dict[str, Counter[str]] = {}
        self._near: Counter[str] = Counter()

    def add(self, entry: Entry) -> None:
        self.systems.setdefault(entry.instance, Counter())[str(entry.status)] += 1
        self._near[entry.nearness] += 1

    @property
    def total(self) -> int:
        return sum(own.total() for own in self.systems.values())

    @property
    def nearness(self) -> dict[str, int]:
        """Class of the nearest published evidence → emulated numbers in it, nearest first."""
        return {str(kind): self._near[str(kind)] for kind in Nearness if self._near[str(kind)]}

    def rows(self, run: Run) -> list[dict[str, object]]:
        """How many cases of each system of the run, and how many of each status."""
        counts = {name: self.systems.get(name, Counter()) for name in run.systems}
        return [
            {"instance": name, "cases": own.total(), **{str(status): own[str(status)] for status in Status}}
            for name, own in counts.items()
        ]

    @property
    def well(self) -> bool:
        """Whether every case was skipped or came to a number that stands."""
        return not any(own.keys() - _WELL for own in self.systems.values())

    def counts(self) -> dict[str, int]:
        """By status, every status present."""
        return {str(status): sum(own[str(status)] for own in self.systems.values()) for status in Status}


class Ended(NamedTuple):
    """The run as far as it came, a sample where it has very many cases, and what all of these came to; the
    store that has it, and what ended it early."""

    run: Run
    tally: Tally
    store: Path
    failure: TrnbenchError | None = None
    strict: bool = False

    @property
    def code(self) -> int:
        """The exit code that its cases make."""
        return int(self.run.exit_code(strict=self.strict))


def tell(
    shared: Session, planned: Plan, ended: Ended, target: Path | None, format: str, *, explain: bool = False
) -> int:
    """Its report written, what came of it told; the exit code."""
    done, failure = ended.run, ended.failure
    if done.interrupted:
        target = None
    if target is not None:
        from trnbench.terminal.target import write_report  # with all that draws

        if unwritten := write_report(shared, done, target):
            target, failure = None, failure or unwritten
    failure = failure or none_ran(done)
    code = int(failure.exit_code) if failure else ended.code
    if format == "json":
        emit_json(_record(ended, target, code))
    else:
        show_outcome(ended, format, explain=explain)
        _show_pairs(done)
        mention(f"run {done.id} in {ended.store}" + (f", report {target}" if target else ""))
    if done.interrupted:
        cases, kept = len(planned.cases), ended.tally.total
        say(f"\ninterrupted: {kept} of {cases} cases are kept as run {done.id}")
        say(shared.typed(f"  try:   trnbench resume {done.id}, or: trnbench runs show {done.id}"))
    if failure is not None:
        raise failure
    return code


def _show_pairs(done: Run) -> None:
    """What decides where this run does not, in a folder with a commit to compare with."""
    unsteady = [measurement for measurement in done.measurements if measurement.status is Status.INCONCLUSIVE]
    if unsteady and "git_commit" in done.environment:
        kernel = unsteady[0].case.kernel
        mention(
            f"inconclusive: {len(unsteady):,}; two versions can be told apart on this machine all the same: "
            f"trnbench compare --paired HEAD . --kernel {kernel} --backend {done.backend}",
        )


def none_ran(done: Run) -> TrnbenchError | None:
    """The error of a run in which every case was skipped: nothing came of it, and why."""
    if done.interrupted or not done.all_skipped:
        return None
    total = len(done.measurements)
    reasons = Counter(measurement.reason_text for measurement in done.measurements).most_common()
    told = [f"{count:,} × {reason}" if total > 1 else reason for reason, count in reasons[:REASONS]]
    if others := reasons[REASONS:]:
        told.append(counted(len(others), "more reason"))
    case = done.measurements[0].case
    where = f"trnbench info {case.kernel}   where it runs"
    if case.family == WORKLOAD_FAMILY:
        where = "trnbench workload info MODEL --task …   where it fits"
    return NothingSelected(
        "the one selected case was skipped" if total == 1 else f"all {total:,} selected cases were skipped",
        cause="; ".join(told),
        try_=f"trnbench runs show {done.id}   says why, case by case; {where}",
    )


def show_outcome(ended: Ended, format: str, *, explain: bool) -> None:
    """A row for each case of a few; of many of one kernel those of a headline; else counts and sentences.

    CSV has every case. `explain` adds the lines that the report begins with.
    """
    done, total = ended.run, ended.tally.total
    sampled = total > len(done.measurements)
    results = [] if sampled else results_of(done)
    few = total <= MOST or format == "csv"
    # The answer to a question has no place for what went wrong: counts and sentences have.
    rows = results if few else short_answer(results, MOST) if ended.tally.well else []
    if rows:
        show_results(rows, format)
    if not few and rows:
        mention(f"{_statuses(ended.tally)}; --dtype and --scope choose others")
    elif not rows:
        _show_counts(ended, format)
    if explain or not rows:
        show_headline(done, format, explain=explain)


def _statuses(tally: Tally) -> str:
    """`72 cases: 54 ok, 18 skipped`."""
    return f"{counted(tally.total, 'case')}: {status_words(tally.counts())}"


def _show_counts(ended: Ended, format: str) -> None:
    """By system and status, and by the class of the nearest evidence."""
    tally = ended.tally
    total: dict[str, object] = {"instance": "all", "cases": tally.total, **tally.counts()}
    people = [Column(str(status), keep=WANTED if total[str(status)] else 0) for status in Status]
    emit([*tally.rows(ended.run), total], ("instance", Column("cases", keep=WANTED), *people), format)
    if near := tally.nearness:
        emit(
            [{"nearest evidence": name, "cases": count} for name, count in near.items()],
            ("nearest evidence", "cases"),
            format,
        )


def _record(ended: Ended, report: Path | None, code: int) -> dict[str, object]:
    """What came out as data; cases where they are few."""
    done, tally = ended.run, ended.tally
    few = len(done.measurements) <= MOST
    return {
        "run": done.id,
        "store": str(ended.store),
        "report": str(report) if report else None,
        "evidence": str(done.grade),
        "backend": done.backend,
        "cases": tally.total,
        "headline": headline_record(done),
        "results": [row_of(result) for result in results_of(done)] if few else [],
        "counts": tally.counts(),
        "nearness": tally.nearness,
        "systems": tally.rows(done),
        "interrupted": done.interrupted,
        "exit_code": code,
    }


WIDTH = 100
"""Columns where no terminal says how many it has."""
NBSP = "\u00a0"


def show_headline(run: Run, format: str, *, explain: bool = True) -> None:
    """Lines for people, or a list in Markdown; tables of data (JSON, CSV) are left alone.

    A sentence for each generation, or all lines to `explain`. What has no band is grey where colours suit,
    and says so in words everywhere.
    """
    if format not in ("table", "md"):
        return
    from trnbench.run.headline.answer import headline  # few cases are told by rows alone

    top = headline(run)
    shades = format == "table" and suits_colours()
    if explain:
        lines = [_item(said.text, format, grey=shades and line.muted) for line, said in top.said]
    else:
        lines = [_item(card.text, format) for card in top.cards]
    told = [
        *(f"{system}: {bad}" for system, bad in top.alarms),
        top.silence,
        top.footnote * explain,
        top.means,
    ]
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
    from trnbench.run.headline.answer import headline

    found = headline(run)
    lines = [{"text": said.text, **msgspec.to_builtins(line)} for line, said in found.said]
    return {**msgspec.to_builtins(found), "lines": lines}
