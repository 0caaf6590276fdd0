"""Runs by name or at hand: `trnbench.compare_runs`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trnbench.compare.change import Comparison
from trnbench.compare.comparison import compared
from trnbench.compare.reference import found_run, run_of_file
from trnbench.results.run import Run
from trnbench.store.store import Store

Given = Run | str | Path
"""A run, what names one (an id, a tag, "latest~3", a file), or the path of a file."""


def compare_runs(
    before: Given, after: Given, *, store: str | Path | None = None, **options: Any
) -> Comparison:
    """What changed from one run to another; what `trnbench compare` says.

    `options` (`threshold`, `across`, `keyword`, `a`, `b`) mean what those of the command mean, `threshold` as
    a share: 0.03 is 3 %. Raises `UnknownName` for a run that is not there, `UsageError` for what cannot be
    read or compared, `NothingSelected` where no case is in both.
    """
    return compared(given_run(before, store), given_run(after, store), **options)


def given_run(given: Given, store: str | Path | None) -> Run:
    """The run itself. Raises `UnknownName`, `MissingFile`, `BadInput`, `StoreError`."""
    if isinstance(given, Run):
        return given
    if isinstance(given, Path):
        return run_of_file(given)
    with Store(store) as opened:
        return found_run(given, opened)
