"""A connection that carries JSON objects between two ranks that know each other."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import struct
import time
from typing import Any

from trnbench.bounded.json import NotJson, parse_json

MOST = 16 << 20
"""Bytes of one message at most: samples and evidence of a case are a few hundred KiB."""

_HEAD = struct.Struct("!Q32s")  # length, and a HMAC over number, length and text


class Gone(Exception):
    """The other side has closed, was lost, or said something that no rank says."""


class Late(Exception):
    """Nothing came in time."""


class Line:
    """Messages between two ranks, each behind its length and a proof by `key`; `first` on rank 0's side.

    A length is looked at before anything is kept, the proof before anything is parsed; a message cannot be
    repeated or left out.
    """

    def __init__(self, connection: socket.socket, key: bytes, *, first: bool) -> None:
        self._socket, self._key = connection, key
        self._ways = (b"down", b"up") if first else (b"up", b"down")
        self._sent = self._heard = 0
        self._rest = bytearray()
        # A machine that loses its power closes nothing.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def send(self, **message: Any) -> None:
        """Raises `Gone`."""
        text = json.dumps(message).encode()
        proof = self._proof(self._ways[0], self._sent, text)
        try:
            self._socket.settimeout(30.0)
            self._socket.sendall(_HEAD.pack(len(text), proof) + text)
        except OSError:
            raise Gone from None
        self._sent += 1

    def hear(self, deadline: float | None, *, most: int = MOST) -> dict[str, Any]:
        """The next message. Raises `Gone`, and `Late` after `deadline` of the monotonic clock."""
        self._fill(_HEAD.size, deadline)
        length, proof = _HEAD.unpack_from(self._rest)
        if length > most:
            raise Gone
        self._fill(_HEAD.size + length, deadline)
        text = bytes(self._rest[_HEAD.size : _HEAD.size + length])
        del self._rest[: _HEAD.size + length]
        if not hmac.compare_digest(proof, self._proof(self._ways[1], self._heard, text)):
            raise Gone
        self._heard += 1
        try:
            found = parse_json(text, most=most)
        except NotJson:
            raise Gone from None
        if not isinstance(found, dict):
            raise Gone
        return found

    def _fill(self, size: int, deadline: float | None) -> None:
        while len(self._rest) < size:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0.0:
                raise Late
            try:
                self._socket.settimeout(left)
                chunk = self._socket.recv(min(size - len(self._rest), 1 << 16))
            except TimeoutError:
                raise Late from None
            except OSError:
                raise Gone from None
            if not chunk:
                raise Gone
            self._rest += chunk

    def _proof(self, way: bytes, number: int, text: bytes) -> bytes:
        return hmac.digest(self._key, struct.pack("!4sQ", way, number) + text, hashlib.sha256)

    def close(self) -> None:
        self._socket.close()
