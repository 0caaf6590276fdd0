"""What runs inside a process that Ray started on one of the machines."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from trnbench import Backend, Case, Detection
from trnbench.run.environment import describe
from trnbench.run.identity import identity
from trnbench.run.pool import Pool
from trnbench.run.reply import detected
from trnbench.run.worker import loads, tried
from trnbench.store.entry import Entry
from trnbench.version import VERSION


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What one machine says of itself."""

    version: str  # of trnbench there
    detection: Detection
    environment: dict[str, Any]
    problem: str = ""  # why the stack could not be described


def look(backend: Backend, *, keep_identity: bool = False) -> Seen:
    """Asked of every machine before the first case."""
    detection, problem, extra = detected(backend), "", {}
    if detection.available:
        try:
            extra = backend.environment()
        except Exception as error:  # a plugin's, or a tool's of another version
            problem = f"{type(error).__name__}: {error}"
    with identity(kept=keep_identity):
        environment = describe(extra)
    return Seen(version=VERSION, detection=detection, environment=environment, problem=problem)


class Server:
    """Carries out cases by their position. With `apart` each one has a process of its own below this
    one, so that a signal, an exit code or a process ended for memory is told as it is on one machine."""

    def __init__(self, payload: bytes, apart: bool) -> None:
        # What native code prints must not end up on anybody's stdout.
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        self._attempts, self._cases = loads(payload)
        self._apart = apart

    def ready(self) -> bool:
        return True

    def run(self, positions: Sequence[int]) -> list[Entry]:
        """What each case came to; whatever it does short of ending this process, it is told."""
        return [self._run(self._cases[position]) for position in positions]

    def _run(self, case: Case) -> Entry:
        if not self._apart:
            return tried(self._attempts, case)[0]
        ((_, entry),) = Pool(self._attempts, (case,), 1, apart=True).outcomes()
        return entry


def on_machine(entry: Entry, number: int) -> Entry:
    """The outcome with the number of the machine in its detail."""
    measurement = entry.measurement
    detail = {**measurement.detail, "machine": number}
    return Entry(msgspec.structs.replace(measurement, detail=detail))
