"""Numbers and words for people."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench_reports import numbers, words

N = numbers.NBSP


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.9250, f"92.5{N}%"),
        (0.9996, f"99.9{N}%"),
        (1.0, f"100.0{N}%"),
        (1.0004, f"100.1{N}%"),
        (0, f"0.0{N}%"),
    ],
)
def test_percent_never_rounds_to_a_hundred(value: float, text: str) -> None:
    assert numbers.percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9.996, "10.0"),
        (99.95, "100"),
        (1234567, "1,230,000"),
        (0.012345, "0.0123"),
        (0, "0"),
        (-5.5, "-5.50"),
    ],
)
def test_three_significant_digits(value: float, text: str) -> None:
    assert numbers.significant(value) == text


@given(st.floats(min_value=1e-9, max_value=1e18, allow_nan=False))
def test_significant_stays_within_half_a_digit(value: float) -> None:
    shown = float(numbers.significant(value).replace(",", ""))
    assert math.isclose(shown, value, rel_tol=0.0051)


@pytest.mark.parametrize(
    ("unit", "values", "expected"),
    [
        ("FLOP/s", [1e12, 5e13, 9e13], (1e12, "TFLOPS")),
        ("B/s", [4e11], (1e9, "GB/s")),
        ("B", [2.0**31], (2.0**30, "GiB")),
        ("s", [2e-6, 3e-6, 1.0], (1e-6, "µs")),
        ("1", [7.0], (1.0, "")),
        ("B/s", [], (1.0, "B/s")),
    ],
)
def test_one_unit_for_a_column(unit: str, values: list[float], expected: tuple[float, str]) -> None:
    assert numbers.scale(unit, values) == expected


def test_one_number_with_its_prefix() -> None:
    assert numbers.show(1e16, "FLOP/s") == f"10{N}PFLOPS"
    assert numbers.show(46.4e12, "B/s") == f"46.4{N}TB/s"
    assert numbers.show(math.inf, "B/s") == "inf"


def test_gains() -> None:
    assert [numbers.times(x) for x in (0.874, 2.14, 13.6)] == ["0.87×", "2.1×", "14×"]


def test_units_of_documented_metrics() -> None:
    assert numbers.unit_of("peak_flops") == "FLOP/s"
    assert numbers.unit_of("neuronlink_bandwidth") == "B/s"
    assert numbers.unit_of("device_count") == ""
    assert numbers.unit_of("a metric of a plugin that is gone") == ""


@given(st.text(max_size=60))
def test_clean_text_is_harmless_and_short(text: str) -> None:
    made = words.clean(text, 40)
    assert len(made) <= 40
    assert not set(made) & set("\u202e\u200f\x00\x1b")
    made.encode("utf-8")


def test_clean_text_keeps_what_is_fine() -> None:
    assert words.clean("µ-kernel “é” 日本 🙂") == "µ-kernel “é” 日本 🙂"


def test_lists_in_prose() -> None:
    assert words.listed([]) == ""
    assert words.listed(["a"]) == "a"
    assert words.listed(["a", "b", "c"]) == "a, b and c"


def test_how_often_a_second_has_a_prefix_and_three_digits() -> None:
    assert numbers.show(4_306_688.0, "1/s") == "4.31\u00a0M/s"
    assert numbers.show(12.0, "1/s") == "12.0\u00a0/s"
    assert numbers.scale("1/s", [3e6]) == (1e6, "M/s")
