"""Files that pages and other formats of runs go to: named, checked before the work starts, then written."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec.structs import replace

from trnbench.errors import NothingSelected, TrnbenchError, UsageError
from trnbench.extension import Format
from trnbench.results.run import Run
from trnbench.run.output_file import START, check_writable, names_stdout, write_whole
from trnbench.run.render import find_format, formats, render_bytes
from trnbench.run.selection import Selection
from trnbench.store.store import RunSummary, Store
from trnbench.terminal.context import Session
from trnbench.terminal.output import abandon, mention, say
from trnbench.terminal.vocabulary import REPORT, TIMELINE

if TYPE_CHECKING:
    from trnbench.registry import Registry


STDOUT = Path("-")


def report_target(target: Path, *, force: bool) -> Path:
    """A file that can take the HTML report. Raises `UsageError`."""
    if names_stdout(target):
        raise UsageError(
            "the report cannot go to stdout here",
            cause="stdout carries the summary of the run",
            try_="trnbench run --no-report, then: trnbench report -o -",
        )
    check_name(target)
    check_writable(target, force=force)
    return target


def own_target(backend: str, selection: Selection, *, force: bool) -> Path:
    """The file of the report in the working folder where none is named. Raises `UsageError`."""
    target = report_target(page_name(backend, selection), force=force)
    if target != Path(REPORT):
        mention(f"the report of this selection goes to {target}")
    return target


def check_html(shared: Session) -> None:
    """Raises `UsageError` where no plugin writes HTML, before the work instead of after it."""
    if "html" not in formats(shared.registry):
        raise UsageError(
            "no plugin here writes HTML reports",
            cause="the reports were left out with --no-plugin, or failed to load: trnbench plugin list",
            try_="--no-report  keeps the run; trnbench report writes the page later",
        )


def check_name(target: Path) -> None:
    """A report is HTML: a name that says otherwise is a mistake. Raises `UsageError`."""
    suffix = target.suffix.lower()
    if suffix in NO_PAGE:
        raise UsageError(
            f"{target} does not look like an HTML report",
            cause=f"the report is one HTML file, whatever its name, and this one ends in {target.suffix}",
            try_=NO_PAGE[suffix].format(target=target, format=suffix[1:], page=target.with_suffix(".html")),
        )


NO_PAGE: Mapping[str, str] = {
    **dict.fromkeys((".json", ".csv", ".md", ".parquet"), "trnbench export RUN --as {format} -o {target}"),
    **dict.fromkeys((".svg", ".png"), "trnbench report RUN --part headline -o {target}"),
    **dict.fromkeys((".pdf", ".txt"), "a name as {page}"),
    ".db": "--store {target}  before the command keeps results there",
}
"""Endings that say something else than HTML, and what writes that."""


def check_timeline(path: Path, *, force: bool, option: str = "-o") -> None:
    """See that `path` can take a timeline, before the work starts; `option` is what named it.

    Raises `UsageError` for a name of something else, for stdout where that carries a table, and where it
    cannot be written.
    """
    if names_stdout(path) and option == "-o":
        return
    if names_stdout(path) or path.suffix.lower() not in ("", ".json", ".trace"):
        other = f"this one ends in {path.suffix}" if path.suffix else "stdout carries the results"
        raise UsageError(
            f"{path} does not look like the file of a timeline",
            cause=f"{option} writes JSON, whatever the name, and {other}",
            try_=f"{option} {path.with_suffix('.json') if path.suffix else TIMELINE}",
        )
    check_writable(path, force=force, option=option, example=TIMELINE)


STEM = REPORT.removesuffix(".html")

LONGEST = 60
"""Characters of the words in a name."""

_EMULATED = "emulated"


def page_name(backend: str, selection: Selection) -> Path:
    """`trnbench-report-gemm-trn2-16.48xlarge.html`: the backend where it measures, kernels, systems.

    A digest stands for what else was asked for, and for what would make it too long: the same selection
    always has the same name.
    """
    measures = (backend,) if backend not in ("", _EMULATED) else ()
    words = list(dict.fromkeys((*measures, *selection.kernels, *selection.instances)))
    others = replace(selection, kernels=(), instances=()).asked()
    if not words and not others:
        return Path(REPORT)
    name = "-".join(filter(_plain, words))[:LONGEST]
    if others or name != "-".join(words):
        name = "-".join(filter(None, (name, _digest([*words, others]))))
    return Path(f"{STEM}-{name}.html")


def page_name_of(runs: Sequence[Run], registry: Registry) -> Path:
    """Of stored runs: one has the name that it was written under, others have one by their ids."""
    ids = [run.id for run in runs]
    if len(runs) == 1:
        try:
            return page_name(runs[0].backend, Selection.stored(runs[0].settings["selection"], registry))
        except (KeyError, msgspec.ValidationError, NothingSelected):  # imported, or of another version
            pass
    name = "-".join(ids)
    if len(name) > LONGEST or not _plain(name):
        name = f"{len(ids)}-runs-{_digest(ids)}"
    return Path(f"{STEM}-{name}.html")


def _plain(word: str) -> bool:
    """Whether it can stand in the name of a file as it is."""
    return re.fullmatch(r"[A-Za-z0-9._-]+", word) is not None


def _digest(words: Sequence[str]) -> str:
    return sha256("\n".join(words).encode()).hexdigest()[:6]


_TITLE = rb"<title>trnbench ([^<]*)</title>"


def replacing(target: Path, runs: Sequence[Run]) -> str:
    """What a person is told when the page of `runs` takes the place of another; "" where it does not."""
    if not target.is_file():  # to open a pipe would wait for whoever is to read it
        return ""
    try:
        with target.open("rb") as stream:
            start = stream.read(START)
    except OSError:
        return ""
    title = re.search(_TITLE, start)
    earlier = title[1].decode(errors="replace") if title else ""
    page = start.lstrip().lower().startswith(b"<!doctype html")
    if not page or earlier == ", ".join(run.id for run in runs):
        return ""
    return f"{target}: the page of {f'run {earlier}' if earlier else 'an earlier run'} is replaced"


def write_report(shared: Session, done: Run, target: Path) -> TrnbenchError | None:
    """The page of a run. Its failure is told after the summary: the run itself is safe."""
    try:
        before = run_before(shared.store_path, done)
        html = find_format(shared.registry, "html")
        _write(target, (done,), render_bytes((done,), html, shared.registry, before=before))
    except TrnbenchError as error:
        return error
    return None


def put(shared: Session, runs: Sequence[Run], format: Format, output: Path) -> None:
    """Write `runs` to the file and print its path, or write them to stdout."""
    for run in runs:
        if run.cut_short:
            say(f"warning: run {run.id} was cut short: {run.cut_short}")
    before = run_before(shared.store_path, runs[0]) if format.page and len(runs) == 1 else None
    data = render_bytes(runs, format, shared.registry, before=before)
    told = replacing(output, runs)
    deliver(output, data)
    if told:
        mention(told)


def _write(target: Path, runs: Sequence[Run], page: bytes) -> None:
    told = replacing(target, runs)
    write_whole(target, page)
    if told:
        mention(told)


def deliver(output: Path, data: bytes) -> None:
    """Write the file and print its path, or write to stdout, which then carries nothing else."""
    if names_stdout(output):
        _to_stdout(data)
        return
    write_whole(output, data)
    click.echo(str(output))


def _to_stdout(data: bytes) -> None:
    """Bytes as they are; a reader that went away is not an error."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        abandon(sys.stdout)


def run_before(store: Path | None, run: Run) -> Run | None:
    """The newest finished run that is older, of the same backend, evidence and peak policy, and much of the
    same selection; None where there is none. A store that cannot be read has none to show."""
    try:
        with Store(store) as opened:
            before = id_before(opened.list(), run, run.systems, len(run.measurements))
            found = opened.load(before) if before else None
    except TrnbenchError:
        return None
    return found if found is not None and mostly_alike(found, run) else None


def id_before(known: Iterable[RunSummary], run: Run | RunSummary, systems: Iterable[str], cases: int) -> str:
    """That run's id, by columns alone: a system in common, and neither has twice as many cases as the other.
    "" where there is none. `cases`: of `run`."""
    older = [
        each
        for each in known
        if each.created < run.created
        and each.id != run.id
        and each.state == "done"
        and (each.backend, each.grade, str(each.policy)) == (run.backend, run.grade, str(run.policy))
        and set(each.instances) & set(systems)
        and cases / 2 <= each.cases <= 2 * cases
    ]
    return max(older, key=lambda each: each.created).id if older else ""


def mostly_alike(before: Run, run: Run) -> bool:
    """Whether both have at least half of the cases of the one that has more."""
    known = {each.id for each in before.measurements}
    shared = sum(each.id in known for each in run.measurements)
    return 2 * shared >= max(len(known), len(run.measurements))
