"""Where rank 0 listens, and who is let in: each that knocks is asked for the key beside the others."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import queue
import socket
import threading
import time
from typing import Any

from trnbench.errors import UsageError
from trnbench.run.ranks.greeting import GREETING_S, Stranger, admit
from trnbench.run.ranks.line import Gone, Late, Line
from trnbench.run.ranks.place import LOOPBACK, Place, own_name
from trnbench.run.ranks.rank import RENDEZVOUS

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
        except (Stranger, Gone, Late, OSError):
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
