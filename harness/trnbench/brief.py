"""Records in one line, for people who look at them in a session: the rest is in their fields."""

from __future__ import annotations

from collections.abc import Iterable

from trnbench.quoting import visible

LONGEST = 200
"""Characters, whatever a record is called."""


def brief(record: object, text: str) -> str:
    """`<Run 20260101-120000-abcd: 88 cases>`."""
    told = visible(text)
    return f"<{type(record).__name__} {told if len(told) <= LONGEST else told[: LONGEST - 1] + '…'}>"


def counted(number: int, noun: str) -> str:
    """`1 case`, `1,904 cases`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def listed(names: Iterable[str], noun: str, most: int = 3) -> str:
    """The names, or how many there are where they are more than `most`."""
    names = list(names)
    return ", ".join(names) if len(names) <= most else counted(len(names), noun)
