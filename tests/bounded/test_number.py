"""One kind of number for every option: what is one, and what never is."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_run import text_of

from trnbench.bounded import kinds
from trnbench.bounded.number import LONGEST, OF_A_SECOND, POWERS_OF_TWO, Number
from trnbench.errors import UsageError

KINDS = {name: each for name, each in vars(kinds).items() if isinstance(each, Number)}
SIZE = Number("size", "bytes", "4K", 0, 2**50, units=POWERS_OF_TWO, floored=True)
TIME = Number("time", "with a unit", "5us", 0, 10, units=OF_A_SECOND)
LIMIT = Number("limit", "seconds", "60", 0, 100, smallest=0.5)
COUNT = Number("count", "it counts", "3", 1, 9, whole=True)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (SIZE, "1.5K", 1536), (SIZE, "64 MiB", 64 << 20), (SIZE, "2tb", 2 << 40), (SIZE, " 7 ", 7),
        (SIZE, "1e3", 1000), (SIZE, ".5", Fraction(1, 2)), (SIZE, "0", 0), (SIZE, "+3", 3),
        (TIME, "50us", Fraction(5, 100_000)), (TIME, "50µs", Fraction(5, 100_000)), (TIME, "1 S", 1),
        (TIME, "0ns", 0), (LIMIT, "0", 0), (LIMIT, "0.5", Fraction(1, 2)), (COUNT, "9", 9), (COUNT, "3.0", 3),
    ],
)  # fmt: skip
def test_what_is_a_number(kind: Number, text: str, value: Fraction) -> None:
    assert kind.parsed(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (SIZE, "-1"), (SIZE, "2e15"), (SIZE, "1KK"), (SIZE, "1 2"), (SIZE, "1e100"), (SIZE, "1  K"),
        (SIZE, "1\nK"), (TIME, "5"), (TIME, "5 min"), (TIME, "11s"), (LIMIT, "0.4"), (LIMIT, "1e-30"),
        (COUNT, "1.5"), (COUNT, "0"), (COUNT, "10"), (COUNT, "3K"),
    ],
)  # fmt: skip
def test_what_is_none_of_its_kind(kind: Number, text: str) -> None:
    assert kind.parsed(text) is None


NO_NUMBER = ("nan", "inf", "-inf", "", " ", "1_0", "٣", "½", "²", "0x10", "1e400", "1,5", "--1", "9" * 5000)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_takes_its_example_and_nothing_that_is_no_number(kind: Number) -> None:
    assert [text for text in NO_NUMBER if kind.parsed(text) is not None] == []
    for value in (math.nan, math.inf, -math.inf):
        assert not kind.fits(value)
        with pytest.raises(UsageError):
            kind.checked(value, "it")
    assert kind.parsed(kind.example) is not None
    assert kind.least <= kind.most
    assert not kind.noun.startswith(("a ", "an "))


def test_the_message_says_what_is_taken() -> None:
    assert text_of(UsageError, COUNT.read, "9" * 99, "--count") == (
        f"--count '{'9' * 40}…{'9' * 10}' (99 characters) is no count\n"
        "  cause: it counts, 1 to 9\n"
        "  try:   --count 3"
    )
    assert (
        text_of(UsageError, COUNT.checked, 0.5, "count")
        == "count 0.5 is no count\n  cause: it counts, 1 to 9\n  try:   count 3"
    )


@given(st.text(max_size=LONGEST + 5))
def test_whatever_is_typed_is_a_number_or_none(text: str) -> None:
    for kind in KINDS.values():
        value = kind.parsed(text)
        assert value is None or kind.least <= value <= kind.most


@given(st.floats(0, 1e14, allow_nan=False))
def test_every_float_that_python_prints_is_read_back(value: float) -> None:
    if value == 0 or value > 1e-99:
        assert float(kinds.AXIS.parsed(repr(value)) or 0) == value
