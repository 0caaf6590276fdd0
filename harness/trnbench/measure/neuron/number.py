"""Numbers out of foreign documents: what is no number is absent, never zero."""

from __future__ import annotations

import math
from typing import Any


def number(value: Any) -> float | None:
    """A finite float of an int, a float or digits in a string; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def whole(value: Any) -> int | None:
    """As `number`, for counts and ids."""
    found = number(value)
    return int(found) if found is not None and found == int(found) else None


def at(document: Any, *path: str) -> Any:
    """`document[path[0]][path[1]]…`, None where a step is missing or no object."""
    for step in path:
        if not isinstance(document, dict):
            return None
        document = document.get(step)
    return document
