"""Rank 0 listens until all others have come; they come and say what they are about to measure."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import ipaddress
import platform
import queue
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from trnbench.errors import ExitCode, UsageError
from trnbench.kernels.kernel import Case
from trnbench.run.attempt import Attempts
from trnbench.run.executor import OFF, RENDEZVOUS, CutShort, Rank
from trnbench.run.ranks.connection import (
    GREETING_S,
    LOOPBACK,
    Gone,
    Late,
    Line,
    Place,
    admit,
    find,
    own_name,
    present,
    publish,
    withdraw,
)
from trnbench.version import VERSION

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
        with contextlib.suppress(OSError, Gone, Late), contextlib.ExitStack() as stack:
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


def hello(attempts: Attempts, cases: Sequence[Case]) -> dict[str, Any]:
    """JSON-safe. `machine` is the same for ranks of one machine, and names none."""
    settings = (attempts.timeout_s, attempts.seed, str(attempts.judge.policy))
    return {
        "trnbench": VERSION,
        "backend": attempts.backend.name,
        "instance": attempts.backend.detect().instance,
        "cases": _digest("\n".join(case.id for case in cases)),
        "settings": _digest(repr(settings)),
        "machine": _digest(_boot() + platform.node()),
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        return ""


AT_ONCE = 64
"""Connections that may be in the middle of a greeting; more are closed unheard."""


HELLO = 64 << 10
"""Bytes of a first message at most: it is a dozen short words."""


Guest = tuple[int, Line, dict[str, Any]]


class Door:
    """Listens at `place` until it is closed. Raises `UsageError` where that is not possible."""

    def __init__(self, place: Place) -> None:
        self._server = _listening(place)
        self._guests: queue.SimpleQueue[Guest] = queue.SimpleQueue()
        self._asked = threading.BoundedSemaphore(AT_ONCE)

    @property
    def port(self) -> int:
        """Where the others find it."""
        return int(self._server.getsockname()[1])

    def guest(self, key: str, deadline: float) -> Guest | None:
        """The next that holds `key`, with what it said; None when the time is over."""
        while (left := deadline - time.monotonic()) > 0.0:
            with contextlib.suppress(queue.Empty):
                return self._guests.get_nowait()
            self._server.settimeout(min(left, 0.1))
            try:
                connection = self._server.accept()[0]
            except OSError:  # among them the time-out
                continue
            if self._asked.acquire(blocking=False):
                threading.Thread(target=self._ask, args=(connection, key), daemon=True).start()
            else:
                connection.close()
        return None

    def _ask(self, connection: socket.socket, key: str) -> None:
        try:
            rank, own = admit(connection, key)
            line = Line(connection, own, first=True)
            self._guests.put((rank, line, line.hear(time.monotonic() + GREETING_S, most=HELLO)))
        except (Gone, Late, OSError):
            connection.close()
        finally:
            self._asked.release()

    def close(self) -> None:
        """Nobody is let in from now on; who came and was not asked for is sent away."""
        self._server.close()
        with contextlib.suppress(queue.Empty):
            while True:
                self._guests.get_nowait()[1].close()


def _listening(place: Place) -> socket.socket:
    """On the address that the others will use; on every one only where this machine has no such address."""
    host = place.host or own_name(place)
    try:
        for family, address in _addresses(host):
            try:
                return socket.create_server((address, place.port), family=family)
            except OSError as error:
                # The name of a machine behind another address: its own is not known here.
                if error.errno != errno.EADDRNOTAVAIL:
                    raise
        return socket.create_server(("", place.port), family=socket.AF_INET)
    except OSError as error:
        raise UsageError(
            f"rank 0 cannot listen at {place}",
            cause=str(error.strerror or error),
            try_=f"{RENDEZVOUS}=HOST:PORT with a port that is free there",
        ) from None


def _addresses(host: str) -> list[tuple[socket.AddressFamily, str]]:
    """What `host` means here, without loopback where others are to come by a machine's name."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    listed = [(family, str(address[0])) for family, _, _, _, address in found]
    named = host not in LOOPBACK and not any(address == host for _, address in listed)
    return [
        (family, address)
        for family, address in listed
        if not (named and ipaddress.ip_address(address.partition("%")[0]).is_loopback)
    ]
