"""A connection between two ranks: a greeting that proves the key, then JSON objects.

Rank 0 sends a nonce; who comes answers with its rank, a nonce of its own and a HMAC over all of it; rank 0
answers with a HMAC over both the other way round. Every part has a fixed length, nothing in it is parsed, and
the key itself never travels.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import socket
import struct
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from trnbench.bounded import read_file
from trnbench.bounded.json import NotJson, parse_json
from trnbench.bounded.kinds import JOB, PORT, Number
from trnbench.errors import UsageError, cut
from trnbench.record import Record
from trnbench.run.executor import RENDEZVOUS, RENDEZVOUS_KEY, Rank

_JOBS = (
    "PMIX_NAMESPACE",
    "OMPI_MCA_ess_base_jobid",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "TORCHELASTIC_RUN_ID",
    "MASTER_PORT",
)


LOOPBACK = ("127.0.0.1", "::1", "localhost")


KEY_LENGTH = 32
"""Characters of a key that a person gives: 128 bits, written in hexadecimal."""


class Place(Record, kw_only=True):
    """`file` where the address is not known before rank 0 listens; `key` keeps all others out."""

    host: str = ""
    port: int = 0
    file: Path | None = None
    key: str = ""

    def __str__(self) -> str:
        return str(self.file) if self.file else f"{self.host}:{self.port}"


def place_of(rank: Rank, env: Mapping[str, str] = os.environ) -> Place:
    """Raises `UsageError` where the variables do not tell."""
    given, job = env.get(RENDEZVOUS, ""), _job(env)
    if "/" in given:
        return Place(file=Path(given) / f"trnbench-{job}.rendezvous")
    if given:
        host, port = _address(given)
        return Place(host=host, port=port, key=_key(env, rank))
    if rank.together:
        # Two users may run at once, or one user two jobs.
        name = f"trnbench-{os.getuid()}-{job}.rendezvous"
        return Place(file=Path(tempfile.gettempdir()) / name)
    if env.get("MASTER_ADDR") and (port := _whole(env, "MASTER_PORT", PORT)):
        # The port itself is the launcher's or PyTorch's.
        return Place(host=env["MASTER_ADDR"], port=port % 65535 + 1, key=_key(env, rank))
    if rank.launcher == "srun" and (host := first_host(env.get("SLURM_STEP_NODELIST", ""))):
        number = _whole(env, "SLURM_JOB_ID", JOB) * 31 + _whole(env, "SLURM_STEP_ID", JOB)
        return Place(host=host, port=20000 + number % 10000, key=_key(env, rank))
    raise UsageError(
        f"{rank.size} ranks of {rank.launcher} do not know where rank 0 is",
        cause="they are on several machines, and no variable names the first one",
        try_=f"mpirun -x {RENDEZVOUS}=HOST:29400 …, HOST being the machine of rank 0",
    )


def _key(env: Mapping[str, str], rank: Rank) -> str:
    """The secret that the ranks were given. Raises `UsageError` for none, or for one that can be guessed."""
    key = env.get(RENDEZVOUS_KEY, "")
    if len(key) >= KEY_LENGTH:
        return key
    raise UsageError(
        f"{rank.size} ranks of {rank.launcher} on several machines hold no key",
        cause=f"{RENDEZVOUS_KEY} has {len(key)} characters, {KEY_LENGTH} are needed: whoever reaches rank 0 "
        "could send results"
        if key
        else f"{RENDEZVOUS_KEY} is not set: whoever reaches rank 0 could send results",
        try_=f"export {RENDEZVOUS_KEY}=$(openssl rand -hex 32), the same on every machine (mpirun -x "
        f"{RENDEZVOUS_KEY}); or {RENDEZVOUS}=/a/folder/all/ranks/share",
    )


def _whole(env: Mapping[str, str], name: str, kind: Number) -> int:
    """0 where it is not set, or is no such number."""
    return int(kind.parsed(env.get(name, "")) or 0)


def first_host(nodes: str) -> str:
    """The first name of a Slurm list: "trn[007-009,12],head" begins with "trn007"."""
    found = re.match(r"([^,\[]+)(?:\[([^\],\-]+))?", nodes)
    return f"{found[1]}{found[2] or ''}" if found else ""


def publish(place: Place, port: int) -> Place:
    """Where rank 0 listens, for the others to read; the same place where the address was known before."""
    if place.file is None:
        return place
    told = replace(place, host=own_name(place), port=port, key=secrets.token_hex(32))
    words = json.dumps({"host": told.host, "port": told.port, "key": told.key})
    path = place.file.with_suffix(f".{os.getpid()}")
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(words)
        os.replace(path, place.file)
    except OSError as error:
        raise UsageError(
            f"rank 0 cannot leave its address in {place.file}",
            cause=str(error.strerror or error),
            try_=f"{RENDEZVOUS}=/a/folder/all/ranks/can/write",
        ) from None
    return told


def withdraw(place: Place) -> None:
    """Take down what tells other ranks where to meet; nothing where nothing was put up."""
    if place.file is not None:
        with suppress(OSError):
            place.file.unlink()


def find(place: Place, deadline: float) -> Place | None:
    """The place with its address, once rank 0 has told; None when the time is over."""
    if place.file is None:
        return place
    while time.monotonic() < deadline:
        with suppress(UsageError, ValueError, KeyError, TypeError):
            # In a folder of everybody's, a file of another user's says nothing.
            told = parse_json(read_file(place.file, most=1 << 12, owner=os.getuid()))
            port = PORT.checked(told["port"], "port")
            return replace(place, host=str(told["host"]), port=int(port), key=str(told["key"]))
        time.sleep(0.05)
    return None


def own_name(place: Place) -> str:
    """What the others are to call this machine: itself where none of them is on another."""
    import socket

    if place.file is not None and place.file.parent == Path(tempfile.gettempdir()):
        return LOOPBACK[0]
    return socket.gethostname()


def _job(env: Mapping[str, str]) -> str:
    words = [env[name] for name in _JOBS if env.get(name)]
    return re.sub(r"[^\w.-]", "_", "-".join(words))[:80] or f"parent{os.getppid()}"


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    number = PORT.parsed(port)
    if not host or number is None:
        raise UsageError(
            f"{RENDEZVOUS}={cut(text)} is no place to meet",
            cause="it is HOST:PORT of rank 0, a folder that all ranks share, or off",
            try_=f"{RENDEZVOUS}=10.0.0.4:29400",
        )
    return host.strip("[]"), int(number)


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
        _give(self._socket, _HEAD.pack(len(text), proof) + text, time.monotonic() + 30.0)
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
            self._rest += _part(self._socket, size - len(self._rest), deadline)

    def _proof(self, way: bytes, number: int, text: bytes) -> bytes:
        return hmac.digest(self._key, struct.pack("!4sQ", way, number) + text, hashlib.sha256)

    def close(self) -> None:
        self._socket.close()


MAGIC = b"trnrank2"
NONCE, PROOF = 32, 32  # bytes
GREETING_S = 5.0
"""For the whole of it: two ranks need one round trip."""


def admit(connection: socket.socket, key: str) -> tuple[int, bytes]:
    """Rank 0's side: the rank that came, and a key for this connection alone.

    Raises `Gone` where the other side does not hold the key or is no rank, `Late` where it is too slow.
    """
    deadline = time.monotonic() + GREETING_S
    mine = secrets.token_bytes(NONCE)
    _give(connection, MAGIC + mine, deadline)
    answer = _take(connection, len(MAGIC) + 4 + NONCE + PROOF, deadline)
    told, proof = answer[:-PROOF], answer[-PROOF:]
    if not told.startswith(MAGIC) or not hmac.compare_digest(proof, _proof(key, b"comes", mine, told)):
        raise Gone
    theirs = told[-NONCE:]
    _give(connection, _proof(key, b"is let in", theirs, mine), deadline)
    (rank,) = struct.unpack("!I", told[len(MAGIC) : -NONCE])
    return rank, _proof(key, b"talks", mine, theirs)


def present(connection: socket.socket, key: str, rank: int) -> bytes:
    """The others' side: the key for this connection. Raises the same."""
    deadline = time.monotonic() + GREETING_S
    begins = _take(connection, len(MAGIC) + NONCE, deadline)
    theirs, mine = begins[-NONCE:], secrets.token_bytes(NONCE)
    if not begins.startswith(MAGIC):
        raise Gone
    told = MAGIC + struct.pack("!I", rank) + mine
    _give(connection, told + _proof(key, b"comes", theirs, told), deadline)
    if not hmac.compare_digest(_take(connection, PROOF, deadline), _proof(key, b"is let in", mine, theirs)):
        raise Gone
    return _proof(key, b"talks", theirs, mine)


def _proof(key: str, purpose: bytes, *parts: bytes) -> bytes:
    return hmac.digest(key.encode(), b"\0".join((purpose, *parts)), hashlib.sha256)


def _give(connection: socket.socket, data: bytes, deadline: float) -> None:
    try:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        connection.sendall(data)
    except OSError:
        raise Gone from None


def _take(connection: socket.socket, size: int, deadline: float) -> bytes:
    data = b""
    while len(data) < size:
        data += _part(connection, size - len(data), deadline)
    return data


def _part(connection: socket.socket, most: int, deadline: float | None) -> bytes:
    """What comes next, of `most` bytes. Raises `Gone`, and `Late` after `deadline`."""
    left = None if deadline is None else deadline - time.monotonic()
    if left is not None and left <= 0.0:
        raise Late
    try:
        connection.settimeout(left)
        part = connection.recv(min(most, 1 << 16))
    except TimeoutError:
        raise Late from None
    except OSError:
        raise Gone from None
    if not part:
        raise Gone
    return part
