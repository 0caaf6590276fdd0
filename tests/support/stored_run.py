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


def make_run(**changes: Any) -> Run:
    run = tiny.carried_out("half", "low", "above", "crash", "unsupported")
    return msgspec.structs.replace(run, **changes)


def text_of(kind: type[TrnbenchError], call: Any, *arguments: Any) -> str:
    with pytest.raises(kind) as caught:
        call(*arguments)
    return str(caught.value)


def edited(path: Path, *statements: str, values: Sequence[object] = ()) -> None:
    """What another program makes of the file: statements in order, each with the same values."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement, values)
        connection.commit()
