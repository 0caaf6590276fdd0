"""Medians, spreads and intervals against definitions, NumPy, and what must always hold."""

from __future__ import annotations

import math
import statistics as reference

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.results.statistics import bootstrap, mad, median, quantile, relative_spread

finite = st.floats(-1e12, 1e12)
samples = st.lists(finite, min_size=1, max_size=60)


@given(samples)
def test_the_median_is_the_median(values: list[float]) -> None:
    assert median(values) == pytest.approx(reference.median(values), rel=1e-12, abs=1e-12)


@given(samples, st.floats(0, 1))
def test_quantiles_agree_with_numpy(values: list[float], q: float) -> None:
    assert quantile(values, q) == pytest.approx(float(np.quantile(values, q)), rel=1e-9, abs=1e-3)
    assert min(values) <= quantile(values, q) <= max(values)


@given(samples, finite)
def test_mad_ignores_where_the_samples_lie(values: list[float], shift: float) -> None:
    assert mad(values) >= 0.0
    assert mad([each + shift for each in values]) == pytest.approx(mad(values), rel=1e-6, abs=1e-2)


def test_one_hiccup_does_not_move_the_median() -> None:
    values = [0.1] * 9 + [4.0]
    assert median(values) == 0.1
    assert mad(values) == 0.0
    assert relative_spread(values) == 0.0


def test_relative_spread_of_zeros() -> None:
    assert relative_spread([0.0, 0.0]) == 0.0
    assert relative_spread([-1.0, 0.0, 1.0]) == math.inf
    assert relative_spread([-2.0, -2.0, -2.2]) == 0.0


@settings(max_examples=20, deadline=None)
@given(samples, st.integers(0, 2**32 - 1))
def test_an_interval_repeats_with_its_seed_and_stays_within(values: list[float], seed: int) -> None:
    first = bootstrap(values, seed=seed, resamples=200)
    assert first == bootstrap(values, seed=seed, resamples=200)
    assert min(values) <= first.low <= first.high <= max(values)


def test_an_interval_covers_as_often_as_it_says() -> None:
    generator = np.random.default_rng(7)
    hits = 0
    for index in range(200):
        found = bootstrap(list(generator.normal(10.0, 1.0, 40)), seed=index, resamples=400)
        hits += found.low <= 10.0 <= found.high
    assert 0.88 <= hits / 200 <= 0.995


@pytest.mark.parametrize(
    ("asked", "confidence"), [({}, 0.95), ({"confidence": 0.9}, 0.9), ({"confidence": 0.5}, 0.5)]
)
def test_an_interval_leaves_out_as_much_on_either_side_as_it_says(
    asked: dict[str, float], confidence: float
) -> None:
    # One sample of each draw: its own distribution, of which any share is known.
    found = bootstrap(range(101), statistic=lambda drawn: drawn[..., 0], resamples=10_000, **asked)
    assert found.confidence == confidence
    tail = (1 - confidence) / 2
    assert found.low / 100 == pytest.approx(tail, abs=0.012)
    assert found.high / 100 == pytest.approx(1 - tail, abs=0.012)


def test_an_interval_of_another_statistic() -> None:
    found = bootstrap([1.0, 2.0, 3.0], statistic=lambda drawn: drawn.max(axis=-1), confidence=0.5)
    assert found.high == 3.0
    assert found.confidence == 0.5


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: median([]), "no samples"),
        (lambda: median([1.0, math.nan]), "samples must be finite numbers"),
        (lambda: quantile([1.0], 1.5), "a quantile lies between 0 and 1, not at 1.5"),
        (lambda: bootstrap([1.0], confidence=1.0), "a confidence lies between 0 and 1, not at 1.0"),
        (lambda: bootstrap([]), "no samples"),
    ],
)
def test_nonsense_is_refused(call: object, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text}$"):
        call()  # type: ignore[operator]
