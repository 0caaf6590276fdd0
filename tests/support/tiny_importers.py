"""Readers as plugins bring them: one that reads, one that reads several runs, two that fail."""

from __future__ import annotations

import msgspec
from stored_run import make_run

from trnbench import Run
from trnbench.errors import BadInput


def read_times(data: bytes) -> Run:
    """A reader of a plugin: one time in seconds, as text."""
    try:
        time_s = float(data)
    except ValueError:
        raise BadInput("this is no time", cause="it is no number", try_="0.5") from None
    run = make_run()
    first = msgspec.structs.replace(run.measurements[0], time_s=time_s)
    return msgspec.structs.replace(run, id=f"times-{time_s:g}", digest="", measurements=(first,))


def read_twice(data: bytes) -> list[Run]:
    return [read_times(data), read_times(b"2" + data)]


def read_nothing(data: bytes) -> None:
    return None


def read_badly(data: bytes) -> Run:
    raise ZeroDivisionError("no reading today")
