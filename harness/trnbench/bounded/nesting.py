"""How deep a document is nested, told before a parser that calls itself walks into it."""

from __future__ import annotations

import re
from typing import Any

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
