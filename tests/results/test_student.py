"""Student's t, against tables and against itself."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.results.statistics import critical, two_sided

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


@pytest.mark.parametrize(("p", "freedom"), [(0.0, 4), (1.0, 4), (0.05, 0), (float("nan"), 4)])
def test_what_has_no_quantile(p: float, freedom: float) -> None:
    with pytest.raises(ValueError, match=f"no quantile for {freedom} degrees of freedom at {p}"):
        critical(p, freedom)
