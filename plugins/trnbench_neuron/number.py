"""Numbers out of foreign documents: what is no number is absent, never zero."""

from __future__ import annotations

from typing import Any

from trnbench.bounded.kinds import FOREIGN


def number(value: Any) -> float | None:
    """A finite float of an int, a float or digits in a string; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str):
        exact = FOREIGN.parsed(value)
        return None if exact is None else float(exact)
    return float(value) if FOREIGN.fits(value) else None


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
