"""How features lie on the partitions."""

from __future__ import annotations

from math import ceil

ROWS = 128


def tiles_of(features: int) -> tuple[int, int]:
    """Rows of the array and how often they are filled; the last may be filled in part."""
    parts = ceil(features / ROWS)
    return ceil(features / parts), parts
