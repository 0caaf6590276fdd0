"""A measurement ready to be kept: what journal, store and digest take of it, made where it was judged."""

from __future__ import annotations

import sys
import zlib
from typing import Any

from trnbench.results.digest import fingerprint_as_written
from trnbench.results.expectation import nearness_of
from trnbench.results.json import dumps_measurement, loads_value
from trnbench.results.measurement import Measurement, Reason, Status
from trnbench.results.run import CaseMark
from trnbench.store.compression import compressed
from trnbench.store.layout import COLUMNS, Row, cells

_ID, _INSTANCE, _STATUS, _REASON, _FRACTION = map(
    COLUMNS.index, ("case_id", "instance", "status", "reason", "fraction")
)
_MARK = tuple(map(COLUMNS.index, ("kernel", "dtype", "scope", "instance", "status")))


class Entry:
    """`cells`: its columns behind the position, without the document. `nearness`: the word that `nearness_of`
    gives. One that another process has made comes without the measurement, which is read when it is asked
    for."""

    __slots__ = ("_document", "_json", "_measurement", "cells", "fingerprint", "nearness")

    def __init__(self, measurement: Measurement, json: bytes | None = None) -> None:
        """`json`: that of the measurement, where the caller has it already."""
        self._measurement: Measurement | None = measurement
        self._json, self._document = json or dumps_measurement(measurement), b""
        self.cells: Row = cells(measurement)
        self.fingerprint = fingerprint_as_written(self._json)
        self.nearness = nearness_of(measurement)

    def __reduce__(self) -> tuple[Any, ...]:
        return _entry_of, (self.cells, self.document, self.fingerprint, self.nearness)

    @property
    def document(self) -> bytes:
        """zlib of its JSON."""
        self._document = self._document or compressed(self._json)
        return self._document

    @property
    def json(self) -> bytes:
        return self._json or zlib.decompress(self._document)

    @property
    def measurement(self) -> Measurement:
        if self._measurement is None:
            return loads_value(self.json, Measurement, f"case {self.id}")
        return self._measurement

    @property
    def id(self) -> str:
        return str(self.cells[_ID])

    @property
    def instance(self) -> str:
        return str(self.cells[_INSTANCE])

    @property
    def status(self) -> Status:
        return Status(self.cells[_STATUS])

    @property
    def reason(self) -> Reason:
        return Reason(self.cells[_REASON])

    @property
    def mark(self) -> CaseMark:
        """What a sample of many is chosen by; small."""
        kernel, dtype, scope, instance, status = (sys.intern(self.cells[at]) for at in _MARK)
        return CaseMark(kernel, dtype, scope, instance, status, self.cells[_FRACTION])


def _entry_of(cells: Row, document: bytes, fingerprint: str, nearness: str) -> Entry:
    entry = Entry.__new__(Entry)
    entry.cells, entry.fingerprint, entry.nearness = cells, fingerprint, nearness
    entry._document, entry._json, entry._measurement = document, b"", None
    return entry
