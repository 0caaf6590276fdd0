"""A connection between two ranks: a greeting that proves the key, then JSON objects.

Rank 0 sends a nonce; who comes answers with its rank, a nonce of its own and a HMAC over all of it; rank 0
answers with a HMAC over both the other way round. Every part has a fixed length, nothing in it is parsed, and
the key itself never travels.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
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


MAGIC = b"trnrank2"
NONCE, PROOF = 32, 32  # bytes
GREETING_S = 5.0
"""For the whole of it: two ranks need one round trip."""


class Stranger(Exception):
    """The other side does not hold the key, is no rank, or is too slow to be one."""


def admit(connection: socket.socket, key: str) -> tuple[int, bytes]:
    """Rank 0's side: the rank that came, and a key for this connection alone. Raises `Stranger`."""
    deadline = time.monotonic() + GREETING_S
    mine = secrets.token_bytes(NONCE)
    _give(connection, MAGIC + mine, deadline)
    answer = _take(connection, len(MAGIC) + 4 + NONCE + PROOF, deadline)
    told, proof = answer[:-PROOF], answer[-PROOF:]
    if not told.startswith(MAGIC) or not hmac.compare_digest(proof, _proof(key, b"comes", mine, told)):
        raise Stranger
    theirs = told[-NONCE:]
    _give(connection, _proof(key, b"is let in", theirs, mine), deadline)
    (rank,) = struct.unpack("!I", told[len(MAGIC) : -NONCE])
    return rank, _proof(key, b"talks", mine, theirs)


def present(connection: socket.socket, key: str, rank: int) -> bytes:
    """The others' side: the key for this connection. Raises `Stranger`."""
    deadline = time.monotonic() + GREETING_S
    begins = _take(connection, len(MAGIC) + NONCE, deadline)
    theirs, mine = begins[-NONCE:], secrets.token_bytes(NONCE)
    if not begins.startswith(MAGIC):
        raise Stranger
    told = MAGIC + struct.pack("!I", rank) + mine
    _give(connection, told + _proof(key, b"comes", theirs, told), deadline)
    if not hmac.compare_digest(_take(connection, PROOF, deadline), _proof(key, b"is let in", mine, theirs)):
        raise Stranger
    return _proof(key, b"talks", theirs, mine)


def _proof(key: str, purpose: bytes, *parts: bytes) -> bytes:
    return hmac.digest(key.encode(), b"\0".join((purpose, *parts)), hashlib.sha256)


def _give(connection: socket.socket, data: bytes, deadline: float) -> None:
    try:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        connection.sendall(data)
    except OSError:
        raise Stranger from None


def _take(connection: socket.socket, size: int, deadline: float) -> bytes:
    data = b""
    while len(data) < size:
        try:
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
            part = connection.recv(size - len(data))
        except OSError:  # among them the time-out
            raise Stranger from None
        if not part:
            raise Stranger
        data += part
    return data
