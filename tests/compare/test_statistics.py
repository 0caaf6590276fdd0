"""The numbers behind a verdict, against tables and against themselves."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.compare.holm import adjusted
from trnbench.compare.spread import Variance, digamma, moderated, trigamma
from trnbench.compare.student import critical, two_sided

# Two-sided quantiles as every statistics table prints them.
TABLE = [
    (1, 0.05, 12.706),
    (2, 0.05, 4.303),
    (4, 0.05, 2.776),
    (4, 0.001, 8.610),
    (10, 0.01, 3.169),
    (30, 0.05, 2.042),
    (120, 0.02, 2.358),
    (math.inf, 0.05, 1.960),
]


@pytest.mark.parametrize(("freedom", "p", "t"), TABLE)
def test_students_t_is_that_of_the_tables(freedom: float, p: float, t: float) -> None:
    assert critical(p, freedom) == pytest.approx(t, abs=6e-4)
    assert two_sided(t, freedom) == pytest.approx(p, rel=2e-3)


def test_one_degree_of_freedom_is_cauchys_and_two_have_a_formula() -> None:
    for t in (0.1, 1.0, 3.0, 1e3, 1e6):
        assert two_sided(t, 1) == pytest.approx(1.0 - 2.0 * math.atan(t) / math.pi, rel=1e-8)
        assert two_sided(t, 2) == pytest.approx(1.0 - t / math.sqrt(t * t + 2.0), rel=1e-5)


@given(st.floats(0.0, 1e6), st.floats(0.1, 1e6))
def test_a_chance_lies_between_none_and_all(t: float, freedom: float) -> None:
    assert 0.0 <= two_sided(t, freedom) <= 1.0
    assert two_sided(t, freedom) == two_sided(-t, freedom)


@settings(max_examples=20)
@given(st.floats(1e-9, 0.999), st.floats(0.5, 1e4))
def test_the_quantile_undoes_the_chance(p: float, freedom: float) -> None:
    assert two_sided(critical(p, freedom), freedom) == pytest.approx(p, rel=1e-6)


def test_nothing_and_infinity() -> None:
    assert two_sided(0.0, 4) == 1.0
    assert two_sided(math.inf, 4) == 0.0


def test_digamma_and_trigamma() -> None:
    euler = 0.5772156649015329
    assert digamma(1.0) == pytest.approx(-euler, abs=1e-10)
    assert digamma(0.5) == pytest.approx(-euler - 2.0 * math.log(2.0), abs=1e-10)
    assert trigamma(1.0) == pytest.approx(math.pi**2 / 6, abs=1e-9)
    assert trigamma(0.5) == pytest.approx(math.pi**2 / 2, abs=1e-9)


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
    own = [Variance(1.0, 4), Variance(9.0, 4)]
    assert moderated(own) == own


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
