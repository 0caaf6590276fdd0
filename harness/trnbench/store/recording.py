"""A run being recorded: its journal takes each case first, and the store is filled from the journal."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from msgspec.structs import replace

from trnbench.errors import StoreError, TrnbenchError
from trnbench.results.measurement import Grade
from trnbench.results.run import SCHEMA_VERSION, Run
from trnbench.store.compression import SMALL, compressed
from trnbench.store.database import StoreFile, check_place, free_name
from trnbench.store.entry import Entry
from trnbench.store.journal import (
    NEW,
    SUFFIX,
    Journal,
    is_in_use,
    journal_folder,
    journals,
    read_chain,
    sweep,
)
from trnbench.store.journal_content import Journaled, Opening, begin, journaled
from trnbench.store.layout import (
    Attached,
    Row,
    change_run,
    ended,
    head,
    insert_measurements,
    insert_run,
    insert_tags,
    measurement_row,
)
from trnbench.store.path import StoreBusy, make_folder

if TYPE_CHECKING:
    import sqlite3


BATCH = 256
"""Emulated cases that the store takes at once where they come one upon the other, at most."""

FOLLOWS_S = 0.25
"""So often it takes those that have gathered. The journal has each of them before."""

LONG = 500
"""Cases from which a journal is worth removing; of a shorter one it costs little to have all twice."""

HURRY_S = 0.25
"""How long a case waits for a store that another process is writing to."""

BACK_OFF_S = (1.0, 60.0)
"""After a store did not take a case: the first pause until it is asked again, doubled up to the last."""

SYNC_S = 2.0
"""An emulated case can be had again: journals of such runs reach the disk this often, others with every
case."""


class Recording:
    """A case is safe when `add` returns: in the journal, whatever becomes of the process or the store.

    A store that is locked, full or damaged costs one attempt and a pause, and nothing waits in
    memory for it: what it missed is read from the journal once it takes something again, or by the next
    command. `behind` says why it lags when the run has ended.
    """

    def __init__(self, store: StoreFile, run: Run, journal: Journal, number: int | None) -> None:
        self.store, self.run_id, self.journal = store, run.id, journal
        self.behind: StoreError | None = None
        self._number = number
        self._lags = number is None
        self._pause_s, self._asked_again = BACK_OFF_S[0], 0.0
        self._patience_s = 0.0 if run.grade is Grade.MEASURED else SYNC_S
        self._synced = time.monotonic()
        self._waiting: list[Row] = []
        self._synced_since = False
        self._follows_s = 0.0 if run.grade is Grade.MEASURED else FOLLOWS_S
        self._followed = time.monotonic()

    def add(self, position: int, entry: Entry) -> None:
        """Keep one measurement. Raises `JournalFull` when there is no room for it: all that was added before
        is kept."""
        self.journal.append("case", {"position": position}, entry.document)
        now = time.monotonic()
        if now >= self._synced + self._patience_s:
            self.journal.sync()
            self._synced, self._synced_since = time.monotonic(), True
        self._waiting.append((position, *entry.cells, entry.document))
        if len(self._waiting) >= BATCH or now >= self._followed + self._follows_s:
            self.follow()

    def follow(self) -> None:
        """The store takes what waits, where it takes anything."""
        rows, synced = self._waiting, self._synced_since
        self._waiting, self._synced_since = [], False
        self._followed = time.monotonic()
        if not rows or (self._lags and time.monotonic() < self._asked_again):
            return

        def change(connection: sqlite3.Connection, number: int) -> None:
            insert_measurements(connection, number, rows)
            if synced:  # the row is long; after a kill, cases behind what it says are put in once more
                change_run(connection, number, {"indexed": self.journal.end})

        self._index(change, busy_s=HURRY_S)

    def documents(self, positions: Sequence[int]) -> Iterator[bytes]:
        """The JSON of some cases that are kept, from the store, or from the journal where that lags."""
        query = "SELECT document FROM measurements WHERE run = ? AND position = ?"
        documents = []
        if not self._lags:
            with suppress(StoreError), self.store.reading() as connection:
                for position in positions:
                    documents += connection.execute(query, (self._number, position)).fetchone()
        if len(documents) < len(positions):
            cases = self._read().cases
            documents = [cases[position].document for position in positions]
        return map(zlib.decompress, documents)

    def add_round(self, position: int, number: int, entry: Entry) -> None:
        """What one process of a case that needs several came to, counted from 0: in the journal alone, until
        the case has all of them. Raises `JournalFull` like `add`."""
        self.journal.append("round", {"position": position, "round": number}, entry.document)
        self.journal.sync()

    def renew(self, found: Journaled) -> Journaled:
        """The journal written anew in the present schema, where it is of an older one; as it was, it stays
        beside it. Raises `StoreError` where it cannot be, and leaves it as it was."""
        if found.schema == SCHEMA_VERSION:
            return found
        path = self.journal.path
        with self.store.writing() as connection:  # it takes all of it again
            connection.execute("UPDATE runs SET indexed = 0, finished = '' WHERE id = ?", (self.run_id,))
        journal = Journal.create(path.with_name(path.name + NEW))
        try:
            begin(journal, head(replace(found.run, finished="", digest="")), found.opening, found.parts)
            for position, measurement in found.measurements().items():
                journal.append("case", {"position": position}, Entry(measurement).document)
            journal.sync()
            os.link(path, free_name(path, f"schema-{found.schema}"))
            journal.rename(path)
        except BaseException as error:
            journal.close()
            journal.path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise StoreError(
                    f"the journal {path} cannot be kept as it is: {error.strerror or error}",
                    cause="it is of an older schema and goes on in a new file; it was left as it was",
                    try_="make room in that folder",
                ) from error
            raise
        self.journal.close()
        self.journal, self._lags = journal, True
        self._index()
        return self._read()

    def go_on(self, at: str, changed: Sequence[str]) -> None:
        """The run is under way again, whatever end the store has of it. Raises `JournalFull`."""
        self.journal.append("resumed", {"at": at, "changed": list(changed)})
        with suppress(StoreBusy), self.store.writing(busy_s=HURRY_S) as connection:
            connection.execute("UPDATE runs SET finished = '' WHERE id = ?", (self.run_id,))
            self._number = fill(connection, self.store.path, self._read())

    def finish(self, run: Run, *, fold: bool = False) -> None:
        """The run as it ended. Raises `JournalFull` when not even that fits; its cases are kept.

        `fold`: a long journal that the store has all of, and that nothing is left to go on with, is removed.
        """
        self.follow()
        try:
            document = head(run)
            self.journal.append("end", {}, compressed(document, SMALL), last=True)
            self.journal.sync()

            def change(connection: sqlite3.Connection, number: int) -> None:
                change_run(connection, number, {**ended(run, document), "indexed": self.journal.end})

            self._index(change)
            if fold and self._is_superfluous(run):
                self.journal.path.unlink(missing_ok=True)  # locked: nobody goes on with it meanwhile
        finally:
            self.journal.close()

    def _is_superfluous(self, run: Run) -> bool:
        """Measured runs keep their journals: what they hold cannot be had again."""
        if self._lags or run.grade is Grade.MEASURED or run.interrupted or run.missing:
            return False
        query = (
            "SELECT planned, count(*), sum(status IN ('failed', 'inconclusive'))"
            " FROM measurements JOIN runs ON run = number WHERE number = ?"
        )
        with suppress(StoreError), self.store.reading() as connection:
            planned, cases, again = connection.execute(query, (self._number,)).fetchone()
            if cases < LONG or cases < planned or again:
                return False
            # Behind a checkpoint the cases are in the database itself, and on the disk.
            busy, written, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            return not busy and written == moved
        return False

    def _index(
        self, change: Callable[[sqlite3.Connection, int], None] | None = None, *, busy_s: float | None = None
    ) -> None:
        """One attempt; all that the store missed where it lags, else this change alone."""
        lagged, self._lags = self._lags, True  # also where an interruption cuts this short
        try:
            with self.store.writing(busy_s=busy_s) as connection:
                if lagged or self._number is None or change is None:
                    self._number = fill(connection, self.store.path, self._read())
                else:
                    change(connection, self._number)
        except StoreError as error:
            self.behind = error
            self._asked_again = time.monotonic() + self._pause_s
            self._pause_s = min(2 * self._pause_s, BACK_OFF_S[1])
        else:
            self._lags, self.behind, self._pause_s = False, None, BACK_OFF_S[0]

    def _read(self) -> Journaled:
        try:
            data = self.journal.path.read_bytes()
        except OSError as error:
            raise StoreError(f"the journal {self.journal.path} cannot be read: {error.strerror}") from error
        return journaled(read_chain(data), str(self.journal.path))


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
        document = head(run)
        begin(journal, document, opening, parts)
        journal.sync()
        journal.rename(path)  # from here on there is such a run
        found = Journaled(opening, run, parts, {}, document, journal.end, {})
        return Recording(store, run, journal, _indexed(store, found))
    except BaseException:
        journal.close()
        journal.path.unlink(missing_ok=True)
        with suppress(OSError):  # others are there
            journal_folder(store.path).rmdir()
        raise


def _indexed(store: StoreFile, found: Journaled) -> int | None:
    """The run's number in the store; None where the store is locked or full for now."""
    with suppress(StoreBusy), store.writing(busy_s=HURRY_S) as connection:
        return fill(connection, store.path, found)
    return None


def reopened(store: StoreFile, run_id: str) -> Reopened:
    """The journal of a stored run (full id), locked, its torn end cut off.

    Raises `JournalInUse` while the run is under way, `StoreError` where it has no journal, or one that lost
    what going on takes.
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
        if len(content.parts) < content.opening.parts:
            raise StoreError(
                f"run {run_id} cannot be resumed: its journal lost what the run was judged by",
                cause="the file was cut off or damaged; the store keeps what it had of the run",
                try_=f"the same command again; trnbench runs show {run_id} shows what is there",
            )
        return Reopened(Recording(store, content.run, journal, _indexed(store, content)), content)
    except BaseException:
        journal.close()
        raise


def fill(connection: sqlite3.Connection, path: Path, found: Journaled) -> int:
    """Everything of a journal that the tables lack, inside a transaction; the run's number in them.

    What the store has of a run that ended stays, unless the journal says that it was taken up again.
    """
    query = "SELECT number, indexed, finished FROM runs WHERE id = ?"
    row = connection.execute(query, (found.run.id,)).fetchone()
    if row is None:
        number = insert_run(
            connection,
            path,
            found.run,
            found.parts,
            planned=found.opening.planned,
            unfinished=True,
            document=found.head,
        )
        insert_tags(connection, number, found.opening.tags)
        after = 0
    else:
        number, after = int(row[0]), int(row[1])
        if found.lacks(row[2]):  # it was cut off or damaged: the store has more than it
            change_run(connection, number, {"indexed": found.end})
            return number
    insert_measurements(
        connection,
        number,
        (
            measurement_row(position, measurement, found.cases[position].document)
            for position, measurement in found.measurements(after).items()
        ),
    )
    changes: dict[str, Any] = {"indexed": found.end}
    if found.ended:
        changes |= ended(found.run, head(found.run))
    else:
        changes |= {"finished": "", "interrupted": 1}
    # The journal's own: of an older schema, its digest belongs to the documents as they were written; of a
    # run that was taken up again, the head of its former end has a digest that belongs to fewer cases.
    changes |= {"schema_version": found.schema, "head": found.head.decode(), "digest": found.digest}
    change_run(connection, number, changes)
    return number


def catch_up(store: StoreFile) -> dict[Path, TrnbenchError]:
    """Fill the store from every journal that holds more than it, those of runs under way left out.

    Costs one look at each file where there is nothing to do. Returns the journals that could not be
    read, with the reason: they are left as they are.
    """
    problems: dict[Path, TrnbenchError] = {}
    for path in _unindexed(store):
        try:
            journal, chain = Journal.reopen(path)
            with journal:
                found = journaled(chain, str(path))
                with store.writing() as connection:
                    fill(connection, store.path, found)
        except FileNotFoundError:  # its run was deleted meanwhile
            continue
        except TrnbenchError as error:
            problems[path] = error
    return problems


def look_ahead(store: StoreFile) -> None:
    """Show what journals hold and a store of an older version does not, without a change to either: in a
    copy in memory. Journals of runs under way, and such that cannot be read, are left out."""
    contents = []
    for path in _unindexed(store):
        with suppress(OSError, TrnbenchError):
            chain = read_chain(path.read_bytes())
            if chain.records and not is_in_use(path):
                contents.append(journaled(chain, str(path)))
    if contents:
        with store.in_memory() as connection:
            for each in contents:
                fill(connection, store.path, each)


def _unindexed(store: StoreFile) -> list[Path]:
    """Journals that are of another length than the store has of them."""
    entries = list(journals(store.path))
    indexed = store.indexed() if entries else {}
    paths = []
    for entry in sorted(entries, key=lambda each: each.name):
        with suppress(FileNotFoundError):  # its run was deleted meanwhile
            if entry.stat().st_size != indexed.get(unquote(entry.name.removesuffix(SUFFIX)), -1):
                paths.append(Path(entry.path))
    return paths
