"""A connection that carries JSON objects, one on a line."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

MOST = 256 << 20
"""Bytes of one message at most: samples and evidence of a case are a few hundred KiB."""


class Gone(Exception):
    """The other side has closed, or was lost."""


class Late(Exception):
    """Nothing came in time."""


class Line:
    """Messages between two ranks: JSON objects, one a line, over one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        # A machine that loses its power closes nothing.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._rest = bytearray()

    def send(self, **message: Any) -> None:
        """Raises `Gone`."""
        try:
            self._socket.settimeout(30.0)
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            raise Gone from None

    def hear(self, deadline: float | None) -> dict[str, Any]:
        """The next message. Raises `Gone`, and `Late` after `deadline` of the monotonic clock."""
        while (end := self._rest.find(b"\n")) < 0:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0.0:
                raise Late
            try:
                self._socket.settimeout(left)
                chunk = self._socket.recv(1 << 16)
            except TimeoutError:
                raise Late from None
            except OSError:
                raise Gone from None
            if not chunk or len(self._rest) > MOST:
                raise Gone
            self._rest += chunk
        line, self._rest = bytes(self._rest[:end]), self._rest[end + 1 :]
        try:
            found = json.loads(line)
        except ValueError:
            raise Gone from None
        if not isinstance(found, dict):
            raise Gone
        return found

    def close(self) -> None:
        self._socket.close()
