"""Journals that do not agree with the store: what is wrong with them, and the repair of damaged ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from trnbench.errors import StoreError
from trnbench.store.database import StoreFile, free_name
from trnbench.store.journal import DAMAGED, SUFFIX, Chain, Journal, is_in_use, journals, read_chain
from trnbench.store.journal_content import journaled


class Disagreement(NamedTuple):
    """A journal at rest, the full id of its run, and what is wrong; `repair` as in `Problem`.

    `aside`: the store has all that it has lost. `torn`: bytes that are no records stand behind its last.
    """

    path: Path
    run: str
    what: str
    repair: bool
    aside: bool = False
    torn: bool = False


def disagreements(store: StoreFile) -> Iterator[Disagreement]:
    """Of the journals beside a store, in the order of their names."""
    stored = _stored(store)
    for entry in sorted(journals(store.path), key=lambda each: each.name):
        path = Path(entry.path)
        if is_in_use(path):
            continue
        run = unquote(entry.name.removesuffix(SUFFIX))
        finished, indexed = stored.get(run, ("", -1))
        chain = read_chain(path.read_bytes())
        lacking = _lacks(chain, path, finished)
        if not chain.records:
            remove = "" if run in stored else "; remove it, if it is not needed"
            what = f"its journal {entry.name} holds no run{remove}"
            yield Disagreement(path, run, what, run in stored, aside=run in stored)
        elif chain.lost:
            what = f"its journal {entry.name} ends {chain.lost} bytes too early: they are damaged"
            yield Disagreement(path, run, what, True, aside=lacking, torn=True)
        elif lacking:
            what = f"its journal {entry.name} lost the end of the run, which the store has"
            yield Disagreement(path, run, what, True, aside=True)
        elif chain.end != indexed:
            yield Disagreement(path, run, "its journal holds more than the store", True)


def mended(store: StoreFile, is_whole: Callable[[str], bool]) -> Iterator[str]:
    """Puts those aside that a run in the store, which `is_whole`, needs no more, and cuts off torn ends; says
    each in a sentence. Whatever was in a file stays beside it."""
    for journal in list(disagreements(store)):
        if journal.aside and is_whole(journal.run):
            aside = journal.path.with_name(journal.path.name + DAMAGED)
            if aside.exists():
                aside = free_name(journal.path, DAMAGED.removeprefix("."))
            journal.path.rename(aside)
            yield f"run {journal.run} is whole in the store; its damaged journal is now {aside}"
        elif journal.torn:
            Journal.reopen(journal.path)[0].close()
            yield f"run {journal.run}: the damaged end of its journal was cut off"


def _stored(store: StoreFile) -> dict[str, tuple[str, int]]:
    """When each run ended, and how many bytes of its journal the store has; nothing without a sound store."""
    with suppress(StoreError), store.reading() as connection:
        rows = connection.execute("SELECT id, finished, indexed FROM runs")
        return {run: (finished, indexed) for run, finished, indexed in rows}
    return {}


def _lacks(chain: Chain, path: Path, finished: str) -> bool:
    with suppress(StoreError):  # another version wrote it: it is left as it is
        return bool(chain.records) and journaled(chain, str(path)).lacks(finished)
    return False
