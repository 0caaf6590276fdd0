"""JSON of other programs: of few levels, strictly numbers, within a bound of bytes; how deep a text nests."""

from __future__ import annotations

import json
import re
from typing import Any

from trnbench.bounded.file import ANSWER

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
