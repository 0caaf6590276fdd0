"""Stopping rules, robust statistics, stability: on made-up samples, so that each answer is known."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.measure.sampling import PrecisionReached, Rule, SampleLimit, TimeLimit, first_reason, half_width
from trnbench.measure.series import Series, stability

TIMES = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=200)


def around(middle: float, spread: float, count: int, seed: int = 1) -> tuple[float, ...]:
    draw = random.Random(seed)
    return tuple(middle * (1 + draw.uniform(-spread, spread)) for _ in range(count))


def test_each_rule_says_why_it_stops() -> None:
    steady = around(1.0, 0.001, 40)
    assert PrecisionReached().stop(steady, 0.0).startswith("precision reached: median known to ±0.0")
    assert TimeLimit(seconds=2.0).stop((1.0,), 2.5) == "time limit: 2 s of sampling, 1 sample"
    assert SampleLimit(samples=3).stop((1.0,) * 3, 0.0) == "sample limit: 3 samples"


def test_few_samples_are_never_precise() -> None:
    assert PrecisionReached().stop((1.0,) * 19, 0.0) == ""
    assert half_width((1.0,) * 5, 0.95) == float("inf")
    assert TimeLimit(seconds=0.0).stop((), 99.0) == ""


def test_times_that_a_clock_is_too_coarse_for_are_never_precise() -> None:
    assert PrecisionReached().stop((0.0,) * 40, 0.0) == ""


@pytest.mark.parametrize(
    ("count", "confidence", "ranks"),
    [
        (20, 0.95, (5, 15)),  # 10 ± 1.96·√20/2 = 10 ± 4.38, outwards to whole ranks
        (100, 0.95, (40, 60)),  # 50 ± 9.80
        (100, 0.90, (41, 59)),  # 50 ± 8.22
        (1000, 0.95, (469, 531)),  # 500 ± 30.99
        (1000, 0.99, (459, 541)),  # 500 ± 40.73
    ],
)
def test_the_interval_of_the_median_is_that_of_its_ranks(
    count: int, confidence: float, ranks: tuple[int, int]
) -> None:
    samples = [float(rank**2) for rank in range(count)]
    random.Random(3).shuffle(samples)
    low, high = (float(rank**2) for rank in ranks)
    assert half_width(samples, confidence) == (high - low) / 2


def test_precision_is_reached_when_half_the_interval_is_within_it() -> None:
    # Of 100 samples, alternating, ranks 40 to 60 are 1 ± 0.01.
    ordered = [1.0] * 41 + [1.01] * 9 + [1.01] * 9 + [1.02] * 41
    samples = random.Random(5).sample(ordered, 100)
    assert half_width(samples, 0.95) == pytest.approx(0.01)
    assert PrecisionReached(relative=0.0098).stop(samples, 0.0) == ""
    assert PrecisionReached(relative=0.01).stop(samples, 0.0) == (
        "precision reached: median known to ±0.99% (95% confidence) after 100 samples"
    )
    assert PrecisionReached().confidence == 0.95
    assert PrecisionReached().relative == 0.02


def test_a_drift_is_not_precise() -> None:
    climbing = tuple(1.0 + 0.001 * i for i in range(200))
    assert PrecisionReached(relative=0.03).stop(climbing, 0.0) == ""
    assert PrecisionReached(relative=0.03).stop(random.Random(1).sample(climbing, 200), 0.0) != ""


def test_a_rule_of_ones_own_is_a_rule() -> None:
    class Full:
        def stop(self, samples: Sequence[float], elapsed_s: float) -> str:
            return "the moon is full" if len(samples) > 2 else ""

    assert isinstance(Full(), Rule)
    assert first_reason((PrecisionReached(), Full()), (1.0,) * 3, 0.0) == "the moon is full"
    assert first_reason((PrecisionReached(), Full()), (1.0,), 0.0) == ""


def test_one_hiccup_moves_the_mean_and_not_the_median() -> None:
    samples = (*around(100e-6, 0.01, 99), 4e-3)
    told = Series(name="hot", samples=samples).describe()
    assert told["median_s"] == pytest.approx(100e-6, rel=0.01)
    assert told["low_s"] <= told["median_s"] <= told["high_s"] < 102e-6
    assert told["outliers"] == 1
    assert told["max_s"] == 4e-3  # shown, not dropped
    assert told["samples"] == 100
    assert sum(samples) / 100 > 1.3 * told["median_s"]


def test_a_first_sample_far_from_the_rest_is_left_out_and_said() -> None:
    series = Series(name="hot", samples=(478.0, *around(1.0, 0.01, 30)))
    assert series.first_is_far
    assert series.judged == series.samples[1:]
    assert series.describe()["first_dropped"] is True
    assert len(series.samples) == 31


def test_a_first_sample_like_the_rest_is_kept() -> None:
    series = Series(name="hot", samples=around(1.0, 0.01, 30))
    assert not series.first_is_far
    assert series.judged == series.samples


@pytest.mark.parametrize(("last", "far"), [(1.147, False), (1.149, True), (0.853, False), (0.851, True)])
def test_an_outlier_is_five_scaled_mads_from_the_median(last: float, far: bool) -> None:
    # The MAD is 0.02: 5 × 1.4826 × 0.02 = 0.14826.
    series = Series(name="hot", samples=(1.0, 0.98, 1.02, 0.98, 1.02, 0.98, 1.02, 0.98, 1.02, 1.0, last))
    assert series.outliers == ((10,) if far else ())


@pytest.mark.parametrize(("last", "far"), [(1.049, False), (1.051, True)])
def test_what_is_within_five_per_cent_is_no_outlier_however_equal_the_rest(last: float, far: bool) -> None:
    assert Series(name="hot", samples=(*(1.0,) * 20, last)).outliers == ((20,) if far else ())


def test_of_fewer_than_five_samples_none_is_an_outlier() -> None:
    assert Series(name="hot", samples=(1.0, 1.0, 1.0, 9.0)).outliers == ()
    assert Series(name="hot", samples=(1.0, 1.0, 1.0, 1.0, 9.0)).outliers == (4,)


@pytest.mark.parametrize(
    ("spread", "verdict"), [(0.019, "stable"), (0.021, "noisy"), (0.099, "noisy"), (0.101, "unstable")]
)
def test_the_spread_of_half_the_samples_decides_what_is_stable(spread: float, verdict: str) -> None:
    found = stability(Series(name="hot", samples=(1 - spread, 1 + spread) * 20))
    assert found.verdict == verdict
    assert found.why == (
        "" if verdict == "stable" else f"half of the samples lie more than {spread:.1%} from the median"
    )


@pytest.mark.parametrize(
    ("drift", "verdict"),
    [(0.019, "stable"), (0.021, "noisy"), (0.099, "noisy"), (0.101, "unstable"), (-0.021, "noisy")],
)
def test_so_does_the_drift_from_half_to_half(drift: float, verdict: str) -> None:
    # 41 of the level between, so that the median and the MAD are of the middle.
    first, later = 1 - drift / 2, 1 + drift / 2
    samples = (*(first,) * 21, *(1.0,) * 19, *(1.0,) * 19, *(later,) * 21)
    found = stability(Series(name="hot", samples=samples))
    assert found.verdict == verdict
    told = f"the later half of the samples took {abs(drift):.1%} {'longer' if drift > 0 else 'less'}"
    assert found.why == ("" if verdict == "stable" else told)


@pytest.mark.parametrize(("far", "verdict"), [(10, "stable"), (11, "noisy")])
def test_a_tenth_of_the_samples_may_lie_far_off(far: int, verdict: str) -> None:
    samples = [1.0] * 100
    for at in range(far):
        samples[1 + 9 * at] = 2.0
    found = stability(Series(name="hot", samples=tuple(samples)))
    assert found.verdict == verdict
    assert found.why == ("" if verdict == "stable" else "11% of the samples lie far from the rest")


@given(TIMES)
def test_the_interval_holds_the_median(samples: list[float]) -> None:
    told = Series(name="hot", samples=tuple(samples)).describe()
    assert told["min_s"] <= told["low_s"] <= told["high_s"] <= told["max_s"] or told["first_dropped"]
    assert told["low_s"] <= told["median_s"] <= told["high_s"] or len(samples) < 8


def test_a_series_that_is_unstable_says_what_to_do() -> None:
    wide = stability(Series(name="hot", samples=around(1.0, 0.3, 100)))
    assert (wide.verdict, "trnbench doctor" in wide.advice) == ("unstable", True)
    few = stability(Series(name="hot", samples=(1.0,) * 4))
    assert (few.verdict, few.why) == ("unstable", "only 4 samples")
    assert few.advice == "give it more time: --sample-time 5"
    assert stability(Series(name="hot", samples=(1.0,) * 5)).verdict == "stable"
