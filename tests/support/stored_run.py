"""A run with one case of every kind, as a store is given it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tiny_machine as tiny

from trnbench import Run
from trnbench.errors import TrnbenchError
from trnbench.registry import Registry
from trnbench.run.execute import execute
from trnbench.run.resumption import Earlier, unfinished
from trnbench.store.entry import Entry
from trnbench.store.recording import Recording
from trnbench.store.store import Store


def make_run(**changes: Any) -> Run:
    run = tiny.carried_out("half", "low", "above", "crash", "unsupported")
    return msgspec.structs.replace(run, **changes)


def recorded(store: Store, run: Run, count: int | None = None, **options: Any) -> Recording:
    """A recording of the run that has begun and has so many of its cases, or all."""
    begun = msgspec.structs.replace(run, measurements=(), finished="", digest="")
    recording = store.record(begun, **{"planned": len(run.measurements), **options})
    for position, each in enumerate(run.measurements[:count]):
        recording.add(position, Entry(each))
    return recording


def resumed(
    store: Store, registry: Registry, ref: str = "", backend: Any = None, *, anyway: bool = False, **more: Any
) -> Run:
    """The run of this name taken up again, or the latest that is not complete; `more` goes to `execute`."""
    with Earlier(store, unfinished(store, ref)) as earlier:
        planned = earlier.planned(registry)
        chosen = backend or next(iter(registry.backends.values()))
        taken = earlier.taken_up(planned, chosen, registry, anyway=anyway)
        return execute(planned, chosen, registry, earlier.settings, store=store, resumed=taken, **more)


def message_of(kind: type[TrnbenchError], call: Any, *arguments: Any, **more: Any) -> tuple[str, int]:
    """What is said, and the exit code."""
    with pytest.raises(kind) as caught:
        call(*arguments, **more)
    return str(caught.value), int(caught.value.exit_code)


def text_of(kind: type[TrnbenchError], call: Any, *arguments: Any, **more: Any) -> str:
    return message_of(kind, call, *arguments, **more)[0]


def edited(path: Path, *statements: str, values: Sequence[object] = ()) -> None:
    """What another program makes of the file: statements in order, each with the same values."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement, values)
        connection.commit()
