"""TOML of people: whole, UTF-8, of few levels, with finite numbers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from trnbench.bounded.file import DEEPEST, TABLE, deepest, read_file
from trnbench.errors import BadInput, cut

LARGEST = 2**63
"""TOML's whole numbers have 64 bits."""


def read_toml(path: Path, *, try_: str = "correct that line of the file") -> dict[str, Any]:
    """The tables of the file `path`. Raises `MissingFile`, and `BadInput` with the place of what is wrong."""
    return parse_toml(read_file(path, most=TABLE), str(path), try_=try_)


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
