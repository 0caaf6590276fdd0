"""A run while it happens: the journal takes each case, the store follows as it can."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from trnbench.errors import StoreError
from trnbench.results.evidence import Grade
from trnbench.results.json import dumps_measurement
from trnbench.results.measurement import Measurement
from trnbench.results.run import Run
from trnbench.store.compression import compressed
from trnbench.store.filling import fill
from trnbench.store.journal import Journal, read_chain
from trnbench.store.journaled import Journaled, journaled
from trnbench.store.rows import change_run, ended, head, insert_measurements, measurement_row

if TYPE_CHECKING:
    import sqlite3

    from trnbench.store.file import StoreFile

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
    memory: what it missed is read from the journal once it takes something again, or by the next
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

    def add(self, position: int, measurement: Measurement, document: bytes | None = None) -> None:
        """Keep one measurement; `document` is its JSON where the caller has it already.

        Raises `JournalFull` when there is no room for it: all that was added before is kept.
        """
        content = compressed(document or dumps_measurement(measurement))
        self.journal.append("case", {"position": position}, content)
        synced = time.monotonic() >= self._synced + self._patience_s
        if synced:
            self.journal.sync()
            self._synced = time.monotonic()
        if self._lags and time.monotonic() < self._asked_again:
            return

        def change(connection: sqlite3.Connection, number: int) -> None:
            row = measurement_row(position, measurement, content)
            insert_measurements(connection, number, [row])
            if synced:  # the row is long; after a kill, cases behind what it says are put in once more
                change_run(connection, number, {"indexed": self.journal.end})

        self._index(change, busy_s=HURRY_S)

    def add_round(self, position: int, number: int, measurement: Measurement, document: bytes | None) -> None:
        """What one process of a case that needs several came to, counted from 0: in the journal alone, until
        the case has all of them. Raises `JournalFull` like `add`."""
        content = compressed(document or dumps_measurement(measurement))
        self.journal.append("round", {"position": position, "round": number}, content)
        self.journal.sync()

    def finish(self, run: Run) -> None:
        """The run as it ended. Raises `JournalFull` when not even that fits; its cases are kept."""
        try:
            self.journal.append("end", {}, compressed(head(run)), last=True)
            self.journal.sync()

            def change(connection: sqlite3.Connection, number: int) -> None:
                change_run(connection, number, {**ended(run), "indexed": self.journal.end})

            self._index(change)
        finally:
            self.journal.close()

    def _index(
        self, change: Callable[[sqlite3.Connection, int], None], *, busy_s: float | None = None
    ) -> None:
        """One attempt; all that the store missed where it lags, else this change alone."""
        try:
            with self.store.writing(busy_s=busy_s) as connection:
                if self._lags or self._number is None:
                    self._number = fill(connection, self.store.path, self._read())
                else:
                    change(connection, self._number)
        except StoreError as error:
            self._lags, self.behind = True, error
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
