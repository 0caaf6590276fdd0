"""Tags: the words by which runs are found again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from trnbench.errors import UsageError

if TYPE_CHECKING:
    import sqlite3

LATEST = "latest"
"""The newest run; no tag may be called so."""

_BEFORE = rf"{LATEST}(?:~([0-9]{{1,9}}))?"


def steps_back(ref: str) -> int | None:
    """0 for "latest", 3 for "latest~3", None for other names."""
    found = re.fullmatch(_BEFORE, ref)
    return int(found[1] or 0) if found else None


def too_far_back(connection: sqlite3.Connection, ref: str) -> UsageError:
    """What to say of "latest~3" where there are fewer runs."""
    (stored,) = connection.execute("SELECT count(*) FROM runs").fetchone()
    return UsageError(
        f"{ref} goes back further than the store: it holds {stored:,} {'run' if stored == 1 else 'runs'}",
        cause=f"the oldest of them is {LATEST}~{stored - 1}" if stored else "nothing has been run yet",
        try_="trnbench runs list",
    )


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags that can be typed again, several or one. Raises `UsageError` for empty, odd or reserved ones."""
    checked = (tags,) if isinstance(tags, str) else tuple(tags)
    for tag in checked:
        if (
            not tag
            or len(tag) > 100
            or not tag.isprintable()
            or tag != tag.strip()
            or steps_back(tag) is not None
        ):
            raise UsageError(
                f"{tag!r} cannot be a tag",
                cause="a tag is 1 to 100 printable characters, without blanks around it, and not "
                f"{LATEST!r} or {LATEST + '~1'!r}",
                try_="nightly",
            )
    return checked
