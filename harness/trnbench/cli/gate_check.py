"""`trnbench gate check`: a run held against its baseline, by rules."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.cli.context import Session, session
from trnbench.cli.gate_accept import DEFAULT
from trnbench.cli.output import Column, emit, emit_json, format_option, say
from trnbench.cli.store_names import complete_runs
from trnbench.errors import MissingFile

if TYPE_CHECKING:
    from trnbench.compare.gate.finding import Finding, Gated

_COLUMNS = (
    Column("case"),
    Column("outcome", keep=2),
    Column("rule"),
    Column("what", keep=1),
)
_MD = (*_COLUMNS, Column("cause", "likeliest cause"))
_CSV = ("outcome", "kind", "rule", "case", "effect", "low", "high", "what", "causes")
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("run", default="latest", shell_complete=complete_runs)
@click.option(
    "--against",
    default="",
    shell_complete=complete_runs,
    metavar="RUN|TAG|FILE",
    help=f"What it is held against.  [default: ./{DEFAULT}]",
)
@click.option("--rules", type=_FILE, metavar="FILE", help="Rules in TOML: docs/comparing.md.")
@click.option(
    "-k", "keyword", default="", metavar="EXPRESSION", help="Only these cases: 'gemm and not fp32'."
)
@click.option("--strict", is_flag=True, help="What is inconclusive fails too.")
@click.option(
    "--across", is_flag=True, help="Compare numbers of two kinds too: evidence, scope, peaks, ranks."
)
@click.option("--junit", type=_FILE, metavar="FILE", help="Write JUnit XML.")
@click.option(
    "--summary",
    type=_FILE,
    metavar="FILE",
    help="Append a summary in Markdown.  [default: where GITHUB_STEP_SUMMARY says]",
)
@click.option(
    "--annotate/--no-annotate",
    default=None,
    help="Print annotations of GitHub Actions to stderr.  [default: where GITHUB_ACTIONS is true]",
)
@format_option
@session
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
) -> None:
    """Hold RUN (the latest unless named) against another, and exit with 1 where it is worse.

    Without rules, any slower case, any emulated time that rose, any new failure and any missing case breaks
    it. What cannot be told for sure is inconclusive, which is well unless --strict.
    """
    from trnbench.compare.gate.judging import judged
    from trnbench.compare.gate.rules import read_rules
    from trnbench.compare.reference import found_run
    from trnbench.run.writing import check_writable
    from trnbench.store.store import Store

    told = read_rules(rules) if rules is not None else ()
    if junit is not None:
        check_writable(junit, force=True, option="--junit", example="trnbench-junit.xml")
    if not against and not Path(DEFAULT).exists():
        raise MissingFile(
            f"there is nothing to hold it against: no {DEFAULT} here, and no --against",
            cause="no run has been accepted in this folder",
            try_="trnbench gate accept --why '…', or: --against RUN",
        )
    with Store(shared.store_path) as store:
        baseline = found_run(against or f"./{DEFAULT}", store)
        found = found_run(run, store)
    gated = judged(found, baseline, told, strict=strict, across=across, keyword=keyword)
    _elsewhere(gated, junit, summary, annotate=annotate)
    _print(gated, format)
    click.get_current_context().exit(gated.exit_code())


def _print(gated: Gated, format: str) -> None:
    from trnbench.cli.comparing import counted, opening
    from trnbench.compare.gate.finding import Outcome

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
        say(line, level=0)
    shown = [row for row in rows if row["outcome"] != str(Outcome.PASSED)]
    if shown:
        emit(shown, _MD if format == "md" else _COLUMNS, format)
    causes = Counter(each.causes[0] for each in gated.findings if each.causes)
    if causes and format != "md":
        say("likeliest causes:")
        for line in counted(causes):
            say(line)
    counts = ", ".join(f"{len(some):,} {outcome}" for outcome in Outcome if (some := gated.of(outcome)))
    say(f"gate {'passed' if gated.passed else 'failed'}: {counts or 'nothing that ran in either'}")


def _row(each: Finding) -> dict[str, object]:
    change = each.change
    interval = change.interval if change is not None else None
    return {
        "outcome": str(each.outcome),
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
    from trnbench.compare.gate.github import annotation_lines
    from trnbench.compare.gate.github import summary as in_markdown
    from trnbench.compare.gate.junit import junit as as_junit
    from trnbench.run.writing import write_whole

    if junit is not None:
        write_whole(junit, as_junit(gated), option="--junit")
    place = summary or Path(os.environ.get("GITHUB_STEP_SUMMARY", ""))
    if str(place) not in ("", "."):
        with place.open("a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(in_markdown(gated) + "\n")
    if annotate if annotate is not None else os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotation_lines(gated):
            click.echo(line, file=sys.stderr)
