"""JSON of other programs: of few levels, strictly numbers, within a bound of bytes."""

from __future__ import annotations

import json
from typing import Any

from trnbench.bounded import ANSWER, DEEPEST, deep_json


class NotJson(ValueError):
    """Text that is no JSON, or none within bounds; the message says why."""


def parse_json(data: bytes | str, *, most: int = ANSWER, nan_is_null: bool = False) -> Any:
    """What `data` holds. Raises `NotJson` for more than `most` bytes, more than 64 levels, for NaN
    and infinities (None where `nan_is_null`: Python's own writers put them in), for numbers beyond 4,300
    digits, and for what is no JSON in UTF-8."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(raw) > most:
        raise NotJson(f"it has more than {most:,} bytes")
    if deep_json(raw):
        raise NotJson(f"it is nested more than {DEEPEST} deep")
    import msgspec

    try:
        return json.loads(raw, parse_constant=_null) if nan_is_null else msgspec.json.decode(raw)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise NotJson(str(error)) from None


def _null(_name: str) -> None:
    return None
