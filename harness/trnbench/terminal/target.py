"""Where a page goes and what it is called: checked before the work starts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from trnbench.errors import NothingSelected
from trnbench.run.output_file import check_writable
from trnbench.run.render import formats
from trnbench.run.selection import Selection

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.results.run import Run


from trnbench.errors import UsageError
from trnbench.terminal.output import say
from trnbench.terminal.vocabulary import REPORT

if TYPE_CHECKING:
    from trnbench.terminal.context import Session

STDOUT = Path("-")


def report_target(target: Path, *, force: bool) -> Path:
    """A file that can take the HTML report. Raises `UsageError`."""
    if target == STDOUT:
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
        say(f"the report of this selection goes to {target}", level=0)
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
    if target.suffix.lower() in (".json", ".csv", ".md", ".db"):
        raise UsageError(
            f"{target} does not look like an HTML report",
            cause=f"the report is one HTML file, whatever its name, and this one ends in {target.suffix}",
            try_=f"trnbench export RUN --as {target.suffix[1:].lower()} -o {target}"
            if target.suffix.lower() != ".db"
            else f"--store {target}  before the command keeps results there",
        )


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
