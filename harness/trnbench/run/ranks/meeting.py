"""Rank 0 listens until all others have come; they come and say what they are about to measure."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from trnbench.errors import ExitCode, UsageError
from trnbench.run.cut import CutShort
from trnbench.run.ranks.door import Door
from trnbench.run.ranks.greeting import Stranger, present
from trnbench.run.ranks.line import Gone, Line
from trnbench.run.ranks.place import Place, find, publish, withdraw
from trnbench.run.ranks.rank import OFF, RENDEZVOUS, Rank

WAIT_S = 60.0
"""For all ranks to come. Launchers start them together; what differs is how long imports take."""


def gather(
    rank: Rank, place: Place, own: Mapping[str, Any], waiting: Callable[[], AbstractContextManager[None]]
) -> dict[int, tuple[Line, dict[str, Any]]]:
    """Rank 0's side: a line to each other rank, and what it said of itself.

    Raises `UsageError` where nothing can be listened on or a rank is about something else, `CutShort`
    (124) when one does not come. All that have come are told.
    """
    met: dict[int, tuple[Line, dict[str, Any]]] = {}
    door = Door(place)
    try:
        told = publish(place, door.port)
        deadline = time.monotonic() + WAIT_S
        while len(met) < rank.size - 1:
            with waiting():
                guest = door.guest(told.key, deadline)
            if guest is None:
                break
            number, line, hello = guest
            if 0 < number < rank.size:
                before = met.pop(number, None)  # it came again: the answer to its first greeting was lost
                if before is not None:
                    before[0].close()
                met[number] = (line, hello)
            else:
                line.close()
    finally:
        door.close()
        withdraw(place)
    try:
        _complete(rank, met)
        _alike(own, {number: hello for number, (_, hello) in met.items()})
    except (CutShort, UsageError) as error:
        for line, _ in met.values():
            with contextlib.suppress(Gone):
                line.send(end=int(error.exit_code), what=error.what, cause=error.cause, try_=error.try_)
            line.close()
        raise
    return met


def join(rank: Rank, place: Place, own: Mapping[str, Any]) -> Line:
    """The others' side. Raises `CutShort` (124) when rank 0 is not there in time."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        found = find(place, deadline)
        if found is None:
            break
        with contextlib.suppress(OSError, Gone, Stranger), contextlib.ExitStack() as stack:
            connection = stack.enter_context(socket.create_connection((found.host, found.port), timeout=5.0))
            line = Line(connection, present(connection, found.key, rank.rank), first=False)
            line.send(**own)
            stack.pop_all()  # it stays open
            return line
        time.sleep(0.2)
    raise CutShort(
        f"rank {rank.rank} did not find rank 0 at {place} within {WAIT_S:g} s",
        cause="it did not start, runs another command, or cannot be reached from here",
        try_=f"{RENDEZVOUS}=HOST:PORT of rank 0; {RENDEZVOUS}={OFF}  runs this process by itself",
        code=ExitCode.TIMEOUT,
    )


def _complete(rank: Rank, met: Mapping[int, Any]) -> None:
    missing = [str(each) for each in range(1, rank.size) if each not in met]
    if missing:
        which = f"rank {missing[0]}" if len(missing) == 1 else f"ranks {', '.join(missing)}"
        raise CutShort(
            f"{which} of {rank.size} did not come within {WAIT_S:g} s",
            cause=f"{rank.launcher} started this process as one of {rank.size}; the others died or run "
            "something else",
            try_=f"the launcher's own output; {RENDEZVOUS}={OFF}  runs this process by itself",
            code=ExitCode.TIMEOUT,
        )


_READABLE = ("trnbench", "backend", "instance")  # the others are digests


def _alike(own: Mapping[str, Any], others: Mapping[int, Mapping[str, Any]]) -> None:
    for number in sorted(others):
        for key in (*_READABLE, "cases", "settings"):
            theirs = others[number].get(key)
            if theirs != own[key]:
                told = f": {theirs} there, {own[key]} here" if key in _READABLE else ""
                raise UsageError(
                    f"rank {number} differs from rank 0 in its {key}{told}",
                    cause="all ranks measure the same cases on the same kind of machine",
                    try_="the same command, trnbench and plugins on every machine",
                )
