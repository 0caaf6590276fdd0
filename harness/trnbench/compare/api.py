"""Runs by name or at hand: `trnbench.compare_runs` and `trnbench.gate`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from trnbench.compare.change import Comparison
from trnbench.compare.comparison import compared
from trnbench.compare.gate.judgement import judged
from trnbench.compare.gate.rule import Gated, Rule, read_rules
from trnbench.errors import UnknownName, UsageError
from trnbench.results.run import Run
from trnbench.store.store import Store
from trnbench.store.tag import LATEST, steps_back

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
    first, second = _run(before, store), _run(after, store)
    if isinstance(before, str) and before != after and not (options.get("a") or options.get("b")):
        _check_apart(before, first, after, second, store)
    return compared(first, second, **options)


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
    found, baseline = _run(run, store), _run(against, store)
    if isinstance(against, str):
        _check_apart(against, baseline, run, found, store)
    return judged(found, baseline, told, strict=strict, across=across, keyword=keyword)


def _run(given: Given, store: str | Path | None) -> Run:
    """The run itself. Raises `UnknownName`, `MissingFile`, `BadInput`, `StoreError`."""
    if isinstance(given, Run):
        return given
    if isinstance(given, Path):
        return run_of_file(given)
    with Store(store) as opened:
        return found_run(given, opened)


def _check_apart(before: str, first: Run, after: Given, second: Run, store: str | Path | None) -> None:
    with Store(store) as opened:
        check_apart(before, first, second.id if isinstance(after, Run) else str(after), second, opened)


def check_apart(
    before: str, first: Run, after: str, second: Run, store: Store, typed: Callable[[str], str] = str
) -> None:
    """See that a tag, or "latest", does not name the very run that it is compared with: no change would show.

    `first` and `second` are the runs that `before` and `after` name; `typed` makes what to type of the name
    of an earlier run. Raises `UsageError`.
    """
    if first.id != second.id or _is_file(before):
        return
    known = store.list()
    place = next((at for at, each in enumerate(known) if each.id == first.id), None)
    if place is None or not (steps_back(before) is not None or before in known[place].tags):
        return
    earlier = [each.id for each in known[:place] if before in each.tags]
    if place and not earlier:
        earlier = [f"{LATEST}~{len(known) - place}"]
    raise UsageError(
        f"{before} and {after} name the same run, {first.id}",
        cause=f"a tag and {LATEST} move on to each newer run, and a run never differs from itself",
        try_=typed(earlier[-1]) if earlier else "trnbench runs list",
    )


_ENDINGS = (".json", ".journal")


def _is_file(ref: str) -> bool:
    return ref.endswith(_ENDINGS) or "/" in ref


def found_run(ref: str, store: Store) -> Run:
    """The run that `ref` names: an id, the beginning of one, a tag, "latest", "latest~3", or a file (what
    `trnbench export --as json` wrote, a journal, or a baseline).

    What ends in .json or .journal, or has a slash in it, is a file; the store's names go before files of the
    same name. Raises `UnknownName`, `MissingFile`, `BadInput`, `StoreError`.
    """
    if _is_file(ref):
        return run_of_file(Path(ref))
    try:
        return store.load(ref)
    except UnknownName as error:
        if Path(ref).is_file():
            return run_of_file(Path(ref))
        remedy = "trnbench runs list, or a file: ./run.json"
        raise UnknownName("run", ref, error.known, try_=remedy, ordered=True) from None


def run_of_file(path: Path) -> Run:
    """The only run in a file of ours. Raises `MissingFile`, `BadInput`, and `UsageError` for several."""
    from trnbench.compare.gate.baseline import baseline_in
    from trnbench.run.importing import CORE_IMPORTERS, OWN, read_given, read_runs

    data = read_given(path)
    kept = baseline_in(data, str(path))
    if kept is not None:
        return kept.run
    runs = read_runs(CORE_IMPORTERS[OWN], data, str(path))
    if len(runs) != 1:
        raise UsageError(
            f"{path} holds {len(runs)} runs, and one is compared",
            cause="trnbench export wrote several runs into it",
            try_=f"trnbench import {path}, then their ids",
        )
    return runs[0]
