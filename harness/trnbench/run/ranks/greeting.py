"""How two ranks prove to each other that they hold the same key, before either reads a word of the other.

Rank 0 sends a nonce; who comes answers with its rank, a nonce of its own and a HMAC over all of it; rank 0
answers with a HMAC over both the other way round. Every part has a fixed length, nothing in it is parsed, and
the key itself never travels.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
import struct
import time

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
