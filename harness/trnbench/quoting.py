"""Words of others inside a message: never longer than a message may be."""

from __future__ import annotations

MOST = 60


def cut(text: str, most: int = MOST) -> str:
    """`text`, its middle left out where it has more than `most` characters; how many it has is said."""
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]}…{text[-most // 6 :]} ({len(text):,} characters)"


def visible(text: str) -> str:
    """`text` with what cannot be printed, or would turn its neighbours round, written as escapes."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def quoted(text: str, most: int = MOST) -> str:
    """`cut`, in quotes, with what cannot be printed escaped."""
    if len(text) <= most:
        return repr(text)
    return f"{text[: most * 2 // 3] + '…' + text[-most // 6 :]!r} ({len(text):,} characters)"
