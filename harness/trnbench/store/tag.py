"""The words by which runs are found again."""

from __future__ import annotations

from collections.abc import Iterable

from trnbench.errors import UsageError

LATEST = "latest"
"""The newest run; no tag may be called so."""


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags that can be typed again. Raises `UsageError` for empty, odd or reserved ones."""
    checked = tuple(tags)
    for tag in checked:
        if not tag or len(tag) > 100 or not tag.isprintable() or tag != tag.strip() or tag == LATEST:
            raise UsageError(
                f"{tag!r} cannot be a tag",
                cause=f"a tag is 1 to 100 printable characters, without blanks around it, and not {LATEST!r}",
                try_="nightly",
            )
    return checked
