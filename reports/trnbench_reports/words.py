"""Strings from results made safe to look at: no controls, no bidirectional tricks, no endless names."""

from __future__ import annotations

import re
from typing import Any

# C0/C1 controls and lone surrogates cannot stand in HTML; the bidirectional ones reorder their neighbours.
_BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_BIDI = re.compile("[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def clean(text: Any, limit: int = 400) -> str:
    """Printable, at most `limit` characters; the whole string stays in the embedded data."""
    printable = str(text)
    # Python's own answer is the quicker one; of what it calls unprintable most is a space that may not break.
    if not printable.isprintable():
        printable = _BIDI.sub("", _BAD.sub("\ufffd", printable))
    return printable if len(printable) <= limit else printable[: limit - 1] + "…"


def valid(text: str) -> str:
    """Nothing that HTML or UTF-8 cannot carry; all else untouched."""
    return _BAD.sub("\ufffd", text)


def moment(stamp: str) -> str:
    """`2026-11-20 21:04 UTC` of an ISO 8601 time; anything else as it is."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)", stamp)
    return f"{match[1]} {match[2]} UTC" if match else clean(stamp, 40)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(items: list[str], joint: str = "and") -> str:
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {joint} {items[-1]}"
