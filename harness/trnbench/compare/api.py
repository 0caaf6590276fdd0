"""Runs by name or at hand: `trnbench.compare_runs` and `trnbench.gate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from trnbench.compare.change import Comparison
from trnbench.compare.comparison import compared
from trnbench.compare.gate.finding import Gated
from trnbench.compare.gate.judging import judged
from trnbench.compare.gate.rule import Rule
from trnbench.compare.gate.rules import read_rules
from trnbench.compare.reference import found_run, run_of_file
from trnbench.results.run import Run
from trnbench.store.store import Store

Given: TypeAlias = Run | str | Path
"""A run, what names one (an id, a tag, "latest~3", a file), or the path of a file."""


def compare_runs(
    before: Given, after: Given, *, store: str | Path | None = None, **options: Any
) -> Comparison:
    """What changed from one run to another; what `trnbench compare` says.

    `options` (`threshold`, `across`, `keyword`, `a`, `b`) mean what those of the command mean, `threshold` as
    a share: 0.03 is 3 %. Raises `UnknownName` for a run that is not there, `UsageError` for what cannot be
    read or compared, `NothingSelected` where no case is in both.
    """
    return compared(_run(before, store), _run(after, store), **options)


def gate(
    run: Given,
    against: Given,
    *,
    rules: Sequence[Rule] | str | Path = (),
    strict: bool = False,
    across: bool = False,
    keyword: str = "",
    store: str | Path | None = None,
) -> Gated:
    """Whether `run` is good enough beside `against`; what `trnbench gate` finds. `rules`: a file, or some.

    Raises what `compare_runs` raises, and `BadInput` for a file of rules that names its key.
    """
    told = read_rules(Path(rules)) if isinstance(rules, str | Path) else rules
    return judged(_run(run, store), _run(against, store), told, strict=strict, across=across, keyword=keyword)


def _run(given: Given, store: str | Path | None) -> Run:
    """The run itself. Raises `UnknownName`, `MissingFile`, `BadInput`, `StoreError`."""
    if isinstance(given, Run):
        return given
    if isinstance(given, Path):
        return run_of_file(given)
    with Store(store) as opened:
        return found_run(given, opened)
