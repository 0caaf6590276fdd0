"""Steps of a series: the best of all cuts, few of noise, all of exact values."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.results.history import LEAST, levels, steps


def best_cuts(values: Sequence[float], penalty: float, least: int) -> float:
    """The smallest cost of any way to cut, tried one by one."""

    def cost(part: Sequence[float]) -> float:
        middle = math.fsum(part) / len(part)
        return math.fsum((each - middle) ** 2 for each in part)

    @cache
    def lowest(end: int) -> float:
        if end == 0:
            return -penalty
        found = [lowest(start) + cost(values[start:end]) + penalty for start in range(end - least + 1)]
        return min(found, default=math.inf)

    return lowest(len(values))


@settings(max_examples=150)
@given(
    st.lists(st.floats(-5, 5, allow_nan=False, width=32), min_size=2, max_size=14),
    st.floats(0.01, 20),
    st.integers(1, 3),
)
def test_no_other_cuts_are_better(values: list[float], penalty: float, least: int) -> None:
    cuts = levels(values, penalty, least=least)
    ends = [0, *cuts, len(values)]
    parts = [values[start:end] for start, end in itertools.pairwise(ends)]
    assert not cuts or min(map(len, parts)) >= least
    found = penalty * len(cuts) + sum(
        math.fsum((each - math.fsum(part) / len(part)) ** 2 for each in part) for part in parts
    )
    if len(values) >= 2 * least:
        assert found == pytest.approx(best_cuts(tuple(values), penalty, least), abs=1e-6)


def test_the_series_of_another_library() -> None:
    """KernelCPD of ruptures 1.1.10, linear kernel, `min_size` 2, `pen` 3·ln(60), cuts this at 20 and 45."""
    draw = random.Random(11)
    values = [draw.gauss(0.0, 1.0) + (4.0 if 20 <= at < 45 else 0.0) for at in range(60)]
    assert levels(values, 3 * math.log(60), least=2) == [20, 45]


def noisy(
    draw: random.Random, count: int, step: float = 0.0, at: int = 0, noise: float = 0.02
) -> list[float]:
    return [
        math.exp(draw.gauss(0.0, noise) + (math.log1p(step) if index >= at else 0.0))
        for index in range(count)
    ]


@pytest.mark.parametrize("count", [6, 10, 30, 100])
def test_noise_has_few_steps(count: int) -> None:
    draw = random.Random(3)
    found = sum(bool(steps(noisy(draw, count), exact=False)) for _ in range(300))
    assert found <= 0.05 * 300


def test_a_step_is_found_where_it_is_and_as_large_as_it_is() -> None:
    draw = random.Random(4)
    hits = 0
    for _ in range(100):
        found = steps(noisy(draw, 40, 0.1, 25), exact=False)
        hits += (
            len(found) == 1
            and abs(found[0].at - 25) <= 1
            and abs(found[0].after / found[0].before - 1.1) < 0.03
        )
    assert hits >= 90


def test_one_bad_run_is_no_step() -> None:
    values = noisy(random.Random(5), 40)
    values[20] *= 30.0
    values[39] *= 30.0
    assert steps(values, exact=False) == ()


def test_fewer_runs_than_make_a_level_make_no_step() -> None:
    values = [1.0] * 10 + [2.0] * (LEAST - 1)
    assert steps(values, exact=False) == ()
    (found,) = steps([*values, 2.0], exact=False)
    assert (found.at, found.before, found.after) == (10, 1.0, 2.0)


def test_every_change_of_exact_values_is_a_step() -> None:
    found = steps([1.0, 1.0, 1.0 + 1e-12, 1.001, 1.0], exact=True)
    assert [(each.at, each.before, each.after) for each in found] == [(3, 1.0, 1.001), (4, 1.001, 1.0)]
    assert steps([], exact=True) == steps([2.0], exact=True) == ()


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_result_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="a series of results has positive numbers alone"):
        steps([1.0, value], exact=False)
