"""What comes from outside, within bounds: files, streams and TOML here, numbers and documents beside."""

from __future__ import annotations

import math
import os
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO

from trnbench.errors import BadInput, MissingFile, cut

MIB = 1 << 20
TABLE = 16 * MIB
"""Bytes of a file that people write: facts, costs, points, configuration."""
RUNS = 256 * MIB
"""Bytes of exported runs: a run of every kernel on every system is about 20 MiB."""
ANSWER = 16 * MIB
"""Bytes of what another program prints or sends."""


def read_file(path: str | Path, *, most: int, owner: int | None = None) -> bytes:
    """What the regular file `path` holds.

    Raises `MissingFile`, and `BadInput` for a folder, a pipe, a device, more than `most` bytes, or what
    the system refuses; with `owner` (a user id) also for a link and for a file of somebody else. A pipe is
    not waited for.
    """
    shown = cut(str(path), 300)
    try:
        # Without O_NONBLOCK, opening a pipe that nobody writes to never ends.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        descriptor = os.open(path, flags | (os.O_NOFOLLOW if owner is not None else 0))
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise BadInput(
                f"cannot read {shown}: it is {_kind(status.st_mode)}",
                cause="a regular file is needed, which ends and can be read twice",
                try_="save it in a file first",
            )
        with open(descriptor, "rb") as stream:
            if owner is not None and status.st_uid != owner:
                raise PermissionError("it belongs to another user")
            data = _all_of(stream, most + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFile(
            f"there is no file {shown}", cause="it is misspelt, or in another folder", try_="ls"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput(
            f"cannot read {shown}: {why}",
            cause="it is closed to this user, or no name of a file",
            try_="check the path and its permissions",
        ) from None
    return bounded(data, shown, most)


def _all_of(stream: BinaryIO, most: int) -> bytes:
    """Up to `most` bytes, in pieces: asked for at once, they would be set aside for the smallest file."""
    pieces: list[bytes] = []
    while piece := stream.read(min(most, MIB)):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def bounded(data: bytes, where: str, most: int) -> bytes:
    """`data`. Raises `BadInput` for more than `most` bytes of it."""
    if len(data) > most:
        raise BadInput(
            f"{where} holds more than {most // MIB} MiB",
            cause="it is something else, or not as trnbench or a person writes it",
            try_="a smaller file, or several",
        )
    return data


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) else "a device"  # no socket: the system opens none


DEEPEST = 64
"""No document of ours or of the tools we read has more than about ten levels."""

_OTHERS = bytes(set(range(256)) - set(b'[]{}"'))


def deep_json(data: bytes, most: int = DEEPEST) -> bool:
    """Whether JSON text opens more than `most` brackets within each other; told in time by its length."""
    if b"\\" in data:
        data = re.sub(rb"(?s)\\.", b"", data)
    brackets = re.sub(rb'"[^"]*"', b"", data.translate(None, _OTHERS)).replace(b'"', b"")
    brackets = brackets.replace(b"{", b"[").replace(b"}", b"]")
    for _ in range(most):
        brackets = brackets.replace(b"[]", b"")
    # Pairs that are left lie deeper; brackets that nothing closes come after all that nothing opens.
    return b"[]" in brackets or brackets.count(b"[") > most


def deepest(value: Any, most: int = DEEPEST) -> bool:
    """Whether tables and lists in `value` are nested more than `most` deep."""
    level = [value]
    for _ in range(most):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


LARGEST = 2**63
"""TOML's whole numbers have 64 bits."""


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of the file `path`. Raises `MissingFile`, and `BadInput` with the place of what is wrong."""
    return parse_toml(read_file(path, most=TABLE), str(path))


def parse_toml(data: bytes, where: str, *, try_: str = "correct that line of the file") -> dict[str, Any]:
    """The tables in `data`, which is called `where` in messages. Raises `BadInput`."""
    import tomllib

    try:
        table = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{where} is not UTF-8 text",
            cause=f"byte {error.start} cannot be decoded",
            try_="save it as UTF-8",
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(
            f"{where} is no valid TOML: {cut(str(error), 200)}",
            cause="often a missing quote, comma or bracket just before that place",
            try_=try_,
        ) from None
    except RecursionError:
        raise _deep(where) from None
    except ValueError:  # Python itself reads no whole number of more than 4,300 digits
        raise BadInput(
            f"{where} has a number of more than 4,300 digits",
            cause="a whole number of TOML has 64 bits",
            try_="write the digits that count, and an exponent",
        ) from None
    if deepest(table):
        raise _deep(where)
    _finite(table, where)
    return table


def _finite(found: dict[str, Any], where: str) -> None:
    """Raises `BadInput` for a number that is none, or has more than 64 bits, naming its key."""
    waiting: list[tuple[str, Any]] = [("", found)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{key}.{name}" if key else name, each) for name, each in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{key}[{number}]", each) for number, each in enumerate(value)]
        elif isinstance(value, float) and not math.isfinite(value):
            raise BadInput(
                f"{where}: {cut(key, 200)} is {value}",
                cause="it stands for a missing number, or for one that is too large",
                try_="leave the key out where there is no number",
            )
        elif isinstance(value, int) and not -LARGEST <= value < LARGEST:
            raise BadInput(
                f"{where}: {cut(key, 200)} has more than 64 bits",
                cause="a whole number of TOML lies between -2^63 and 2^63",
                try_="write it with an exponent: 1e30",
            )


def _deep(where: str) -> BadInput:
    return BadInput(
        f"{where} is nested more than {DEEPEST} deep",
        cause="no table of facts, costs, points or settings is",
        try_="close the brackets, or write fewer dots in a key",
    )
