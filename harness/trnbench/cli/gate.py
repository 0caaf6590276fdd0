"""`trnbench gate check`: a run held against its baseline, by rules."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from trnbench.cli.compare import of_pairs_alone, opening, tally
from trnbench.compare.api import check_apart, found_run
from trnbench.compare.gate.baseline import accepted, written
from trnbench.compare.gate.judgement import judged
from trnbench.compare.gate.rule import Finding, Gated, Outcome, annotation_lines, read_rules
from trnbench.compare.gate.rule import junit as as_junit
from trnbench.compare.gate.rule import summary as in_markdown
from trnbench.errors import MissingFile, UsageError
from trnbench.results.measurement import BAD
from trnbench.run.output_file import check_writable, write_whole
from trnbench.store.store import Store
from trnbench.store.tag import LATEST
from trnbench.terminal.cell import VITAL, WANTED, Column
from trnbench.terminal.context import Session
from trnbench.terminal.output import emit, emit_json, mention, say
from trnbench.terminal.target import deliver
from trnbench.terminal.vocabulary import BASELINE

_COLUMNS = (
    Column("case"),
    Column("outcome", keep=VITAL),
    Column("change", keep=WANTED),
    Column("rule"),
    Column("what", keep=WANTED),
)
_MD = (*_COLUMNS, Column("cause", "likeliest cause"))
_CSV = ("outcome", "change", "kind", "rule", "case", "effect", "low", "high", "what", "causes")


def check(
    shared: Session,
    /,
    *,
    run: str,
    against: str,
    rules: Path | None,
    keyword: str,
    strict: bool,
    across: bool,
    junit: Path | None,
    summary: Path | None,
    annotate: bool | None,
    format: str,
    paired: bool,
    **asked: Any,
) -> None:
    """Hold RUN (the latest unless named) against another, and exit with 1 where it is worse."""
    told = read_rules(rules) if rules is not None else ()
    _check_files(junit, summary, {"--rules": rules, "--against": against or BASELINE, "RUN": run})
    if paired:
        from trnbench.cli import pairs  # all that measures

        pairs.of_runs_alone()
        side = "" if run == LATEST else run
        measured = pairs.measured(shared, against, side, keyword=keyword, threshold=None, asked=asked)
        from trnbench.compare.pairing.outcome import gated as judged_pairs

        _done(judged_pairs(measured, told, strict=strict), junit, summary, format, annotate=annotate)
        return
    of_pairs_alone(asked)
    if not against and not Path(BASELINE).exists():
        raise MissingFile(
            f"there is nothing to hold it against: no {BASELINE} here, and no --against",
            cause="no run has been accepted in this folder",
            try_="trnbench gate accept --why '…', or: --against RUN",
        )
    against = against or f"./{BASELINE}"
    with Store(shared.store_path) as store:
        baseline = found_run(against, store)
        found = found_run(run, store)
        check_apart(against, baseline, run, found, store, "--against {}".format)
    if found.id == baseline.id:
        say(f"warning: {against} holds this very run, {found.id}: it cannot be worse than itself")
    gated = judged(found, baseline, told, strict=strict, across=across, keyword=keyword)
    _done(gated, junit, summary, format, annotate=annotate)


def _done(
    gated: Gated, junit: Path | None, summary: Path | None, format: str, *, annotate: bool | None
) -> None:
    _print(gated, format)
    _elsewhere(gated, junit, summary, annotate=annotate)
    click.get_current_context().exit(gated.exit_code())


def _print(gated: Gated, format: str) -> None:
    rows = [_row(each) for each in gated.findings]
    if format == "json":
        comparison = gated.comparison
        emit_json(
            {
                "passed": gated.passed,
                "strict": gated.strict,
                "run": comparison.after,
                "against": comparison.before,
                "differs": comparison.differs,
                "findings": rows,
            }
        )
        return
    if format == "csv":
        emit(rows, _CSV, format)
        return
    for line in opening(gated.comparison):
        mention(line)
    shown = [row for row in rows if row["outcome"] != str(Outcome.PASSED)]
    if shown:
        emit(shown, _MD if format == "md" else _COLUMNS, format)
    causes = Counter(each.causes[0] for each in gated.findings if each.causes)
    if causes and format != "md":
        say("likeliest causes:")
        for line in tally(causes):
            say(line)
    say(f"gate {'passed' if gated.passed else 'failed'}: {gated.counts() or 'nothing that ran in either'}")


def _row(each: Finding) -> dict[str, object]:
    change = each.change
    interval = change.interval if change is not None else None
    return {
        "outcome": str(each.outcome),
        "change": each.verdict or None,
        "kind": each.kind,
        "rule": each.rule,
        "case": each.id,
        "effect": change.effect if change is not None else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "exact": change.exact if change is not None else None,
        "what": each.what,
        "cause": each.causes[0] if each.causes else None,
        "causes": list(each.causes),
    }


def _elsewhere(gated: Gated, junit: Path | None, summary: Path | None, *, annotate: bool | None) -> None:
    """Files for CI servers, and annotations."""
    if junit is not None:
        write_whole(junit, as_junit(gated), option="--junit")
    place = summary or os.environ.get("GITHUB_STEP_SUMMARY")
    if place:
        option = "--summary" if summary else "GITHUB_STEP_SUMMARY"
        _append(Path(place), f"{in_markdown(gated)}\n".encode(errors="backslashreplace"), option)
    if annotate if annotate is not None else os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotation_lines(gated):
            click.echo(line, file=sys.stderr)


def _check_files(junit: Path | None, summary: Path | None, inputs: Mapping[str, Path | str | None]) -> None:
    """See that both can be written, and that neither is one of `inputs`. Raises `UsageError`."""
    for output, option, example in ((junit, "--junit", "gate.xml"), (summary, "--summary", "gate.md")):
        if output is None:
            continue
        for source, given in inputs.items():
            if given and os.path.isfile(given) and os.path.isfile(output) and output.samefile(given):
                raise UsageError(
                    f"{option} would write into {output}, which {source} names",
                    cause="the same file is to be read and written",
                    try_=f"{option} {example}",
                )
        if output is junit or not os.path.isfile(output):  # a summary is added to the file that is there
            check_writable(output, force=True, option=option, example=example)


def _append(path: Path, data: bytes, option: str) -> None:
    """Raises `UsageError`, which names `option`: what named the path."""
    try:
        if path.is_fifo() or path.is_char_device():  # which `open` would wait for
            write_whole(path, data, option=option)
            return
        with path.open("ab") as stream:
            stream.write(data)
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}",
            cause=f"{option} names it",
            try_="trnbench gate … --summary gate.md",
        ) from error


def accept(shared: Session, /, *, run: str, why: str, author: str, output: Path | None, force: bool) -> None:
    """Write RUN as the baseline, with who accepted it, when and why, and print its path."""
    output = output or Path(BASELINE)
    if not why.strip():
        raise UsageError(
            "--why is empty",
            cause="whoever reads the baseline later has to know why it was accepted",
            try_="--why 'the new compiler is slower here, and known'",
        )
    with Store(shared.store_path) as store:
        found = found_run(run, store)
    baseline = accepted(found, output, why=why, by=author, force=force)
    check_writable(output, force=True, example=BASELINE)  # that it is a baseline has been seen
    deliver(output, written(baseline))
    bad = sum(count for status, count in found.counts().items() if status in BAD)
    if bad:
        say(f"warning: {bad:,} of its cases failed or are suspect: the gate will not call them new")
