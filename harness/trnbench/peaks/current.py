"""Figures that no newer document supersedes, as exact numbers."""

from __future__ import annotations

from fractions import Fraction

from trnbench.facts.fact import Fact
from trnbench.generation import System


def current_fact(
    system: System, subject: str, metric: str, qualifier: str = "", dtype: str = ""
) -> Fact | None:
    """The first current fact, None where there is none; one that names `dtype` goes before one that names
    none."""
    if not subject:
        return None
    found = [
        fact
        for fact in system.book.select(subject, metric, qualifier=qualifier)
        if fact.value is not None and (not fact.dtypes or not dtype or dtype in fact.dtypes)
    ]
    current = [fact for fact in found if not fact.superseded_by] or found
    named = [fact for fact in current if fact.dtypes] if dtype else []
    return next(iter(named or current), None)


def exact(fact: Fact) -> Fraction:
    """Its value in the base unit of its metric; 0 where the document prints none."""
    return Fraction(fact.value or 0.0)
