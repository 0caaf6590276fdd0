"""Medians, spreads and intervals, Student's t, and errors in words."""

from __future__ import annotations

import math
import statistics as reference

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.results.expectation import factor_text, signed_text, size_text
from trnbench.results.history import HistoryPoint, differing, sparkline
from trnbench.results.measurement import Status
from trnbench.results.statistics import bootstrap, critical, mad, median, quantile, relative_spread, two_sided

finite = st.floats(-1e12, 1e12)
samples = st.lists(finite, min_size=1, max_size=60)


@given(samples)
def test_the_median_and_the_mad_are_those_of_the_library(values: list[float]) -> None:
    middle = reference.median(values)
    assert median(values) == pytest.approx(middle, rel=1e-12, abs=1e-12)
    assert mad(values) == pytest.approx(reference.median([abs(each - middle) for each in values]), abs=1e-3)


@given(samples, st.floats(0, 1))
def test_quantiles_agree_with_numpy(values: list[float], q: float) -> None:
    assert quantile(values, q) == pytest.approx(float(np.quantile(values, q)), rel=1e-9, abs=1e-3)
    assert min(values) <= quantile(values, q) <= max(values)


def test_relative_spread_of_zeros() -> None:
    assert relative_spread([0.0, 0.0]) == 0.0
    assert relative_spread([-1.0, 0.0, 1.0]) == math.inf
    assert relative_spread([-2.0, -2.0, -2.2]) == 0.0


@given(samples, st.floats(0.0, 1.0), st.sampled_from([0.5, 0.9, 0.95]), st.integers(0, 2**32 - 1))
def test_an_interval_is_of_the_quantiles_of_resamples_as_numpy_has_them(
    values: list[float], q: float, confidence: float, seed: int
) -> None:
    found = bootstrap(values, q=q, confidence=confidence, resamples=100, seed=seed)
    drawn = np.random.default_rng(seed).integers(0, len(values), (100, len(values)))
    tail = (1 - confidence) / 2
    least, most = np.quantile(np.quantile(np.sort(values)[drawn], q, axis=-1), [tail, 1 - tail])
    assert (found.low, found.high, found.confidence) == (least, most, confidence)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: median([]), "no samples"),
        (lambda: median([1.0, math.nan]), "samples must be finite numbers"),
        (lambda: quantile([1.0], 1.5), "a quantile lies between 0 and 1, not at 1.5"),
        (lambda: bootstrap([1.0], confidence=1.0), "a confidence lies between 0 and 1, not at 1.0"),
        (lambda: bootstrap([1.0], q=-0.1), "a quantile lies between 0 and 1, not at -0.1"),
        (lambda: bootstrap([]), "no samples"),
    ],
)
def test_nonsense_is_refused(call: object, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text}$"):
        call()  # type: ignore[operator]


# Student's t, against tables and against itself.


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


# Errors in words: per cent of the time, and factors.


@pytest.mark.parametrize(
    ("factor", "size", "signed"),
    [
        (1.0, "0.0 %", "0.0 %"),
        (0.9996, "0.0 %", "0.0 %"),
        (1.0123, "1.2 %", "+1.2 %"),
        (0.9, "11 %", "−10 %"),
        (1.15, "15 %", "+15 %"),
        (4.02, "302 %", "+302 %"),
        (0.51, "96 %", "−49 %"),
        (0.5, "100 %", "÷2.0"),
        (0.4, "150 %", "÷2.5"),
        (23.0, "2,200 %", "+2,200 %"),
        (1 / 23, "2,200 %", "÷23"),
    ],
)
def test_an_error_in_words(factor: float, size: str, signed: str) -> None:
    e = math.log(factor)
    assert size_text(e) == size
    assert signed_text(e) == signed


@given(st.floats(-8, 8))
def test_the_size_does_not_know_the_direction(e: float) -> None:
    assert size_text(e) == size_text(-e)


@pytest.mark.parametrize(
    ("factor", "text"),
    [(6.374, "×6.4"), (1.0488, "×1.05"), (1.096, "×1.1"), (9.96, "×10"), (1234.0, "×1,234")],
)
def test_a_factor(factor: float, text: str) -> None:
    assert factor_text(math.log(factor)) == text


def test_bars_stand_between_the_lowest_and_the_highest() -> None:
    assert sparkline([1.0, 2.0, None, 3.0, 4.0, 5.0]) == "▁▃·▅▆█"
    assert sparkline([100.0, 100.2]) == "▄▅"  # a fifth of a per cent does not fill the height
    assert (sparkline([None, None]), sparkline([0.0, 0.0])) == ("··", "▅▅")
    assert sparkline([9.0, 3.0, *[1.0] * 22, 2.0]) == f"█{'▁' * 22}▅"  # the last 24


def test_six_differences_of_two_runs_are_named() -> None:
    named = {f"package_{name}": "1" for name in "abcde"}
    left_out = {"git_commit": "a", "load_average": 1.0}
    old = HistoryPoint(
        run="a", created="", status=Status.OK, value=1.0, time_s=1.0, tool_version="1",
        environment={"cpu_model": "x", "same": 1, **named, **left_out},
    )  # fmt: skip
    later = {"same": 1, **dict.fromkeys((*named, *left_out), "2")}
    new = msgspec.structs.replace(old, tool_version="2", environment=later)
    six = ("trnbench 1 → 2", *(f"{name} 1 → 2" for name in named))
    assert differing(old, new, machine=False) == six
    assert differing(old, new, machine=True) == ("trnbench 1 → 2", "cpu_model x → none", *six[1:5], "1 more")
