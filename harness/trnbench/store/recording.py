"""A run while it happens: what is added survives a crash, a kill and Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.errors import StoreError
from trnbench.results.json import dumps_measurement
from trnbench.results.measurement import Measurement
from trnbench.results.run import Run
from trnbench.store.rows import Row, head, insert_measurements, measurement_row

if TYPE_CHECKING:
    from trnbench.store.store import Store


class Recording:
    """Measurements go into the store as they come; `finish` marks the run as ended.

    A store that is locked or full for a while costs nothing: rows wait here and are written with
    the next ones. Only `finish` insists.
    """

    def __init__(self, store: Store, run_id: str, number: int) -> None:
        self.store, self.run_id = store, run_id
        self._number = number
        self._waiting: list[Row] = []

    def add(self, position: int, measurement: Measurement, document: bytes | None = None) -> None:
        """Keep one measurement; `document` is its JSON where the caller has it already."""
        document = document or dumps_measurement(measurement)
        self._waiting.append(measurement_row(position, measurement, document))
        try:
            self._write()
        except StoreError:
            # Tried again with the next measurement, and at the latest, loudly, by `finish`.
            return

    def finish(self, run: Run) -> None:
        """The run as it ended. Raises `StoreError` when the store still does not take it."""
        self._write()
        with self.store.writing() as connection:
            connection.execute(
                "UPDATE runs SET finished = ?, interrupted = ?, grade = ?, head = ? WHERE number = ?",
                (run.finished, int(run.interrupted), str(run.grade), head(run).decode(), self._number),
            )

    def _write(self) -> None:
        if self._waiting:
            with self.store.writing() as connection:
                insert_measurements(connection, self._number, self._waiting)
            self._waiting.clear()
