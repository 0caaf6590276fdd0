"""Comparing figures: like with like, or an error."""

from __future__ import annotations

from typing import Any

import pytest

from trnbench.errors import UnitError
from trnbench.facts.fact import Direction, Peak, Scope
from trnbench.facts.metric import ratio

TRY = "figures of one scope, direction and sparsity: trnbench.peaks.choose_peak derives them"


def peak(value: float = 2.0, **more: Any) -> Peak:
    return Peak(**{"metric": "neuronlink_bandwidth", "value": value, "scope": Scope.DEVICE, **more})


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ({"scope": Scope.CORE}, {}, "per core against per device"),
        (
            {"direction": Direction.ONE_WAY},
            {"direction": Direction.BOTH_WAYS},
            "one way against both ways",
        ),
        ({"sparse": True}, {}, "sparse against dense"),
    ],
)
def test_unlike_figures_are_not_compared(one: dict[str, Any], other: dict[str, Any], difference: str) -> None:
    with pytest.raises(UnitError) as error:
        ratio(peak(**one), peak(**other))
    assert str(error.value) == (
        f"neuronlink_bandwidth and neuronlink_bandwidth are not compared: {difference}\n"
        f"  cause: a ratio of unlike figures says nothing about either\n  try:   {TRY}"
    )


def test_a_rate_is_not_compared_with_an_amount() -> None:
    with pytest.raises(UnitError) as error:
        ratio(peak(), peak(metric="hbm_capacity"))
    assert str(error.value).startswith(
        "neuronlink_bandwidth and hbm_capacity are not compared: a data rate against an amount of data"
    )


def test_an_unstated_direction_goes_with_either() -> None:
    assert ratio(peak(4.0, direction=Direction.UNSTATED), peak(direction=Direction.ONE_WAY)) == 2.0


def test_nothing_is_no_denominator() -> None:
    with pytest.raises(UnitError) as error:
        ratio(peak(), peak(0.0))
    assert str(error.value) == (
        "neuronlink_bandwidth has no ratio\n  cause: one of the two figures is words, or zero"
    )
