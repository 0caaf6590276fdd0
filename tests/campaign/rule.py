"""The one rule for every input: a documented exit code, one message, at most 5 s and 500 MB."""

from __future__ import annotations

import re
from collections.abc import Collection

SECONDS = 5.0
"""Of processor time, for one input."""

BYTES = 500_000_000
"""Beyond what the process takes without any input."""

_EMPTY_PART = re.compile(r"^\s*(error|cause|try|warning):\s*$", re.MULTILINE)
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_OURS = ("Traceback", "internal error", "a bug in ")


def broken(code: int, said: str, codes: Collection[int]) -> str:
    """How an exit code and what was said of an input break the rule; "" where they keep it."""
    if blamed := next((each for each in _OURS if each in said), ""):
        return f"it blames itself: {said[said.index(blamed) :][:200]}"
    if code not in codes:
        return f"exit code {code}: {said[-200:]}"
    messages = len(re.findall(r"^error: ", said, re.MULTILINE))
    if messages != (code in (2, 5)) and code in (0, 2, 5):
        return f"{messages} messages with exit code {code}: {said[-200:]}"
    if _EMPTY_PART.search(said):
        return f"a part of its message is empty: {said[-200:]}"
    if _UNSEEN.search(said):
        return f"unseen characters in its message: {said[-200:]!r}"
    return ""
