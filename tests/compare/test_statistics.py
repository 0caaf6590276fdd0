"""The numbers behind a verdict, against tables and against themselves."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paired_runs import case, measured

from trnbench.compare.effect import Effect, Variance, adjusted, digamma, effects, moderated, trigamma
from trnbench.results.statistics import Interval, critical, two_sided


def test_digamma_and_trigamma() -> None:
    euler = 0.5772156649015329
    assert digamma(1.0) == pytest.approx(-euler, abs=2e-11)
    assert digamma(0.5) == pytest.approx(-euler - 2.0 * math.log(2.0), abs=2e-11)
    assert trigamma(1.0) == pytest.approx(math.pi**2 / 6, abs=3e-10)
    assert trigamma(0.5) == pytest.approx(math.pi**2 / 2, abs=3e-10)


def test_holm_by_hand() -> None:
    assert adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjusted([]) == []
    assert adjusted([0.6, 0.7]) == [1.0, 1.0]


@given(st.lists(st.floats(0.0, 1.0), max_size=20))
def test_holm_keeps_the_order_and_takes_nothing_back(p: list[float]) -> None:
    found = adjusted(p)
    assert all(new >= old for new, old in zip(found, p, strict=True))
    assert [each for _, each in sorted(zip(p, found, strict=True))] == sorted(found)


def test_few_cases_keep_their_own_spread() -> None:
    own = [Variance(1.0, 4), Variance(9.0, 4), Variance(0.0, 4), Variance(4.0, 4), Variance(2.0, 4)]
    assert moderated(own) == own


def test_two_processes_against_four_by_students_formula() -> None:
    logs = [0.1, 0.3], [0.2, 0.5, 0.6, 0.7]
    pooled = (0.02 + 0.14) / 4  # sums of squares about 0.2 and 0.5, over the degrees of freedom
    error = math.sqrt(pooled * (1 / 2 + 1 / 4))
    reach = error * critical(0.05, 4)
    (found,) = effects([tuple(measured(case(), list(map(math.exp, side))) for side in logs)], 0.95)  # type: ignore[list-item]
    ends = (pytest.approx(math.expm1(0.3 + way * reach)) for way in (-1, 1))
    interval = Interval(low=next(ends), high=next(ends), confidence=0.95)
    p = pytest.approx(two_sided(0.3 / error, 4))
    assert found == Effect(pytest.approx(math.expm1(0.3)), interval, p)


@pytest.mark.parametrize(("time", "p"), [(1.0, 1.0), (2.0, 0.0)])
def test_processes_without_any_spread_leave_no_doubt(time: float, p: float) -> None:
    pair = measured(case(), (1.0, 1.0)), measured(case(), (time, time))
    end = pytest.approx(time - 1.0)
    assert effects([pair], 0.95) == [Effect(end, Interval(low=end, high=end, confidence=0.95), p)]


def test_cases_that_differ_by_chance_alone_share_one_spread() -> None:
    own = [Variance(value, 4) for value in (0.8, 0.9, 1.0, 1.1, 1.2, 1.3)]
    found = moderated(own)
    assert len({each.value for each in found}) == 1
    assert {each.freedom for each in found} == {24}


def test_a_case_that_lies_close_together_by_chance_is_drawn_to_the_others() -> None:
    own = [Variance(10.0**exponent, 4) for exponent in (-3, -1, -0.5, 0, 0.5, 1, 2)]
    found = moderated(own)
    assert found[0].value > 10 * own[0].value
    assert found[-1].value < own[-1].value
    assert all(4 < each.freedom < 28 for each in found)
    assert [each.value for each in found] == sorted(each.value for each in found)


def test_a_case_without_any_spread_gets_some() -> None:
    own = [Variance(0.0, 4), *(Variance(value, 4) for value in (0.5, 1.0, 2.0, 3.0, 5.0))]
    assert moderated(own)[0].value > 0.0
