"""Comparing two typed figures: like with like, or an error that says what differs."""

from __future__ import annotations

from typing import Protocol

from trnbench.errors import UnitError
from trnbench.facts.metric import metric
from trnbench.facts.scope import Direction, Scope
from trnbench.facts.units import DIMENSIONS


class Typed(Protocol):
    """What `Fact` and `Peak` have in common."""

    @property
    def metric(self) -> str: ...
    @property
    def value(self) -> float | None: ...
    @property
    def scope(self) -> Scope: ...
    @property
    def sparse(self) -> bool: ...
    @property
    def direction(self) -> Direction: ...


def ratio(one: Typed, other: Typed) -> float:
    """`one` over `other`.

    Raises `UnitError` when they differ in dimension, scope, direction (one way against both; an
    unstated direction goes with either) or sparsity, or when one is words or zero.
    """
    difference = unlike(one, other)
    if difference:
        raise UnitError(
            f"{one.metric} and {other.metric} are not compared: {difference}",
            cause="a ratio of unlike figures says nothing about either",
            try_="figures of one scope, direction and sparsity: trnbench.peaks.choose_peak derives them",
        )
    if one.value is None or not other.value:
        raise UnitError(f"{one.metric} has no ratio", cause="one of the two figures is words, or zero")
    return one.value / other.value


def unlike(one: Typed, other: Typed) -> str:
    """Empty where the two may be compared, else what differs."""
    a, b = metric(one.metric).dimension, metric(other.metric).dimension
    if a != b:
        return f"{DIMENSIONS[a]} against {DIMENSIONS[b]}"
    if one.scope is not other.scope:
        return f"per {one.scope} against per {other.scope}"
    if one.sparse != other.sparse:
        return "sparse against dense"
    if {one.direction, other.direction} == {Direction.ONE_WAY, Direction.BOTH_WAYS}:
        return "one way against both ways"
    return ""
