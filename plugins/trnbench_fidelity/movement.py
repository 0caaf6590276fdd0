"""How the untouched points moved, in words."""

from __future__ import annotations

from collections.abc import Iterable

from trnbench.results.error_text import NOTHING, factor_text, signed_text, size_text
from trnbench.results.fidelity import Bounds, Errors, Moved

MOVED = (
    *("family", "generation", "kernels, points", "median then", "now", "p90 then", "now"),
    *("broken then", "now", "moved most"),
)
NAMED = 2
"""Movers that a row names."""


def moved_text(moved: Iterable[Moved]) -> str:
    """What the table is of."""
    versions = ", ".join(dict.fromkeys(each.version for each in moved))
    return (
        "Points that were untouched when their list was frozen (no point leaves it): errors by version "
        f"{versions} of the model, and now."
    )


def moved_cells(moved: Moved) -> tuple[str, ...]:
    """One row under `MOVED`."""
    then, now = moved.then, moved.now
    count = f"{now.votes}, {now.points}" if now else "0"
    most = [f"{each.id} {signed_text(each.then)} → {signed_text(each.now)}" for each in moved.movers[:NAMED]]
    if moved.unanswered:
        most.append(f"no answer now: {', '.join(moved.unanswered)}")
    return (
        moved.title,
        moved.generation,
        count,
        *(_of(each, "median") for each in (then, now)),
        *(_of(each, "p90") for each in (then, now)),
        *map(_broken, (moved.bounds_then, moved.bounds_now)),
        "; ".join(most) or NOTHING,
    )


def _of(errors: Errors | None, name: str) -> str:
    e: float | None = getattr(errors, name) if errors else None
    return NOTHING if e is None else size_text(e)


def _broken(bounds: Bounds | None) -> str:
    if bounds is None:
        return NOTHING
    return f"{bounds.broken} of {bounds.count}" + (f", {factor_text(bounds.worst)}" if bounds.broken else "")
