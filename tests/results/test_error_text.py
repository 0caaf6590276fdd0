"""Errors in words: per cent of the time, and factors."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.results.expectation import factor_text, signed_text, size_text


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
