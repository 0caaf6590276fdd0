"""A run by any name: one of the store, or a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.errors import UnknownName, UsageError
from trnbench.results.run import Run

if TYPE_CHECKING:
    from trnbench.store.store import Store

_ENDINGS = (".json", ".journal")


def found_run(ref: str, store: Store) -> Run:
    """The run that `ref` names: an id, the beginning of one, a tag, "latest", "latest~3", or a file (what
    `trnbench export --as json` wrote, a journal, or a baseline).

    What ends in .json or .journal, or has a slash in it, is a file; the store's names go before files of the
    same name. Raises `UnknownName`, `MissingFile`, `BadInput`, `StoreError`.
    """
    if ref.endswith(_ENDINGS) or "/" in ref:
        return run_of_file(Path(ref))
    try:
        return store.load(ref)
    except UnknownName as error:
        if Path(ref).is_file():
            return run_of_file(Path(ref))
        raise UnknownName("run", ref, error.known, try_="trnbench runs list, or a file: ./run.json") from None


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
