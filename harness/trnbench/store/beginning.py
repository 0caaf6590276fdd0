"""The first records of a run, and the last ones of an earlier attempt at it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from trnbench.errors import StoreError
from trnbench.results.run import Run
from trnbench.store.database import StoreBusy, check_place
from trnbench.store.filling import fill
from trnbench.store.journal import NEW, Journal, journal_folder, sweep
from trnbench.store.journaled import Journaled, Opening, begin, journaled
from trnbench.store.path import make_folder
from trnbench.store.recording import HURRY_S, Recording
from trnbench.store.rows import Attached, change_run, insert_run, insert_tags

if TYPE_CHECKING:
    from trnbench.store.file import StoreFile


class Reopened(NamedTuple):
    """An earlier run, its journal open again; `recording` goes on where it ended."""

    recording: Recording
    found: Journaled


def begun(store: StoreFile, run: Run, opening: Opening, parts: tuple[Attached, ...]) -> Recording:
    """A new journal with the run's head and what is attached to it, then its row in the store.

    Raises `StoreError` when the journal cannot be begun or the store is none, and leaves nothing.
    """
    check_place(store.path)
    make_folder(store.path)
    sweep(store.path)
    path = store.journal(run.id)
    journal = Journal.create(path.with_name(path.name + NEW))
    try:
        begin(journal, run, opening, parts)
        journal.sync()
        journal.rename(path)  # from here on there is such a run
        return Recording(store, run, journal, _indexed(store, run, opening, parts, journal.end))
    except BaseException:
        journal.close()
        journal.path.unlink(missing_ok=True)
        with suppress(OSError):  # others are there
            journal_folder(store.path).rmdir()
        raise


def _indexed(
    store: StoreFile, run: Run, opening: Opening, parts: tuple[Attached, ...], end: int
) -> int | None:
    """The run's number in the store; None where the store is locked or full for now."""
    try:
        with store.writing(busy_s=HURRY_S) as connection:
            number = insert_run(connection, store.path, run, parts, planned=opening.planned, unfinished=True)
            insert_tags(connection, number, opening.tags)
            change_run(connection, number, {"indexed": end})
            return number
    except StoreBusy:
        return None


def reopened(store: StoreFile, run_id: str) -> Reopened:
    """The journal of a stored run (full id), locked, its torn end cut off.

    Raises `JournalInUse` while the run is under way, `StoreError` where it has no journal.
    """
    path = store.journal(run_id)
    if not path.exists():
        raise StoreError(
            f"run {run_id} has no journal to go on from",
            cause="it was stored before journals existed, or imported, or its journal was removed",
            try_=f"the same command again; trnbench runs show {run_id} shows what is there",
        )
    journal, chain = Journal.reopen(path)
    try:
        content = journaled(chain, str(path))
        number = None
        with suppress(StoreBusy), store.writing(busy_s=HURRY_S) as connection:
            number = fill(connection, store.path, content)
    except BaseException:
        journal.close()
        raise
    return Reopened(Recording(store, content.run, journal, number), content)
