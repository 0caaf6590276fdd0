"""Published inequalities that the model breaks: a test says that a kernel takes t at most, the model more."""

from __future__ import annotations

from collections.abc import Iterable

from trnbench.facts.units import show
from trnbench.results.expectation import factor_text
from trnbench.results.fidelity import Comparison, Use

BROKEN = ("point", "bound", "model", "times", "source")


def broken_of(points: Iterable[Comparison]) -> tuple[int, list[Comparison]]:
    """How many inequalities the model answers, and those it breaks, the worst first."""
    bounds = [point for point in points if point.use is Use.BOUND and point.e is not None]
    broken = [bound for bound in bounds if bound.e is not None and bound.e > 0]
    return len(bounds), sorted(broken, key=lambda each: (-(each.e or 0.0), each.id))


def broken_text(bounds: int, broken: list[Comparison]) -> str:
    """`Broken: 19 of 28 published inequalities, the worst ×6.4 (…).`"""
    if not broken:
        return f"Broken: none of {bounds} published inequalities."
    worst = broken[0]
    return (
        f"Broken: {len(broken)} of {bounds} published inequalities, the worst "
        f"{factor_text(worst.e or 0.0)} ({worst.id})."
    )


def broken_cells(point: Comparison) -> tuple[str, ...]:
    """One row under `BROKEN`; both values are times. The source is without its commit: `--bounds` has it."""
    times = (show(value, point.unit) if value else "" for value in (point.published, point.emulated))
    where = point.source.partition("@")[0].partition(" (")[0]
    return (point.id, *times, factor_text(point.e or 0.0), where)
