"""Numbers, words, lists and ranges as people type them, and what is none of these."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import messages
from stored_run import message_of, text_of

from trnbench.bounded.kinds import AXIS
from trnbench.errors import TrnbenchError, UnknownName, UsageError
from trnbench.kernels.kernel import Axis
from trnbench.run.axes import parse_sweep

SIZE = Axis(name="size", values=(128, 256), unit="B")
DTYPE = Axis(name="dtype", kind="str", values=("bf16",), choices=("bf16", "fp8", "fp32"))
RATE = Axis(name="rate", kind="float", values=(0.5,), least=0.0)


def sizes(typed: str):
    return parse_sweep(typed).values(SIZE)


PRODUCT = Axis(name="size", values=(128,), about="M = N = K", sides=("m", "n", "k"))


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("size=8192x4Kx1024", ((8192, 4096, 1024),)),
        ("size=8192×4096×1024", ((8192, 4096, 1024),)),
        ("size=64x64x64,64,1x2x3", (64, (1, 2, 3))),
    ],
)
def test_a_rectangle_has_its_sides_and_a_square_one_length(typed: str, values: tuple[object, ...]) -> None:
    assert parse_sweep(typed).values(PRODUCT) == values


@pytest.mark.parametrize(
    ("typed", "message", "code"), messages(Path(__file__).parent / "wrong_rectangles.txt")
)
def test_what_is_no_rectangle(typed: str, message: str, code: int) -> None:
    assert message_of(UsageError, parse_sweep(typed).values, PRODUCT) == (message, code)


def test_bytes_are_no_size_of_a_matrix() -> None:
    axis = Axis(name="size", values=(128,), about="M = N = K")
    assert text_of(UsageError, parse_sweep("size=64MB").values, axis) == (
        "'64MB' is a number of bytes, and axis size counts elements\n  cause: M = N = K\n  try:   -a size=128"
    )
    assert parse_sweep("size=64MB").values(Axis(name="size", values=(1,), unit="B")) == (64 << 20,)


@pytest.mark.parametrize(
    "typed", ["", "K", "x", "1KK", "1 2", "nan", "inf", "0x10", "1e", "1e999", "١", "--1"]
)
def test_what_is_no_number(typed):
    assert text_of(UsageError, AXIS.read, typed, "axis size") == (
        f"axis size {typed!r} is no number\n"
        "  cause: a number may have K, M, G or T behind it, for 2^10, 2^20, 2^30 and 2^40\n"
        "  try:   axis size 4096"
    )


def test_a_count_is_whole():
    assert sizes("size=1.5K") == (1536,)
    with pytest.raises(UsageError, match=r"size = 1.5 in 'size=1.5' is not a whole number"):
        sizes("size=1.5")


@given(st.integers(0, 1 << 50), st.sampled_from(["", "K", "M", "G", "T"]))
def test_suffixes_are_powers_of_two(number, suffix):
    assert (
        AXIS.read(f"{number}{suffix}", "it") == number << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[suffix]
    )


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("size=1K,64K,1M", (1 << 10, 1 << 16, 1 << 20)),
        ("size[list]=5,3", (5, 3)),
        ("size[pow2]=10:30:2", tuple(1 << e for e in range(10, 31, 2))),
        ("size[pow2]=3:5", (8, 16, 32)),
        ("size[range]=128:1024:128", tuple(range(128, 1025, 128))),
        ("size[range]=1K:1.5K:256", (1024, 1280, 1536)),
        ("size[range]=3:5", (3, 4, 5)),
        ("size[range]=1:10:4", (1, 5, 9)),
        ("size=1K,1024,1KiB", (1024,)),
        ("square.size=7", (7,)),
    ],
)
def test_sweeps(typed, values):
    assert sizes(typed) == values


def test_words_and_fractions():
    assert parse_sweep("dtype=fp8,bf16,fp8").values(DTYPE) == ("fp8", "bf16")
    assert parse_sweep("rate[range]=0:1:0.25").values(RATE) == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert parse_sweep("rate[range]=0:0.3:0.1").values(RATE) == (0.0, 0.1, 0.2, 0.3)


@given(st.integers(0, 62), st.integers(0, 62), st.integers(1, 70))
def test_powers_of_two_count_up_in_exponents(first, last, step):
    first, last = sorted((first, last))
    assert sizes(f"size[pow2]={first}:{last}:{step}") == tuple(1 << e for e in range(first, last + 1, step))


@given(st.integers(1, 10**6), st.integers(0, 500), st.integers(1, 10**5))
def test_ranges_keep_their_last_value(first, steps, step):
    last = first + steps * step
    assert sizes(f"size[range]={first}:{last}:{step}") == tuple(range(first, last + 1, step))
    assert sizes(f"size[range]={first}:{last + step - 1}:{step}")[-1] == last


@given(st.lists(st.integers(1, 1 << 62), min_size=1, max_size=20))
def test_lists_keep_order_and_drop_repetitions(values):
    assert sizes("size=" + ",".join(map(str, values))) == tuple(dict.fromkeys(values))


@given(st.text(max_size=40))
def test_anything_typed_is_a_sweep_or_a_message(typed):
    try:
        assert all(parse_sweep(typed).values(axis) for axis in (SIZE, DTYPE, RATE))
        message = "a sweep"
    except TrnbenchError as error:
        message = error.what and error.try_
    assert message


@pytest.mark.parametrize(("typed", "message", "code"), messages(Path(__file__).parent / "wrong_sweeps.txt"))
def test_what_a_wrong_sweep_says(typed, message, code):
    assert message_of(UsageError, sizes, typed) == (message, code)


def test_words_are_checked_against_those_the_axis_takes():
    assert (
        text_of(UnknownName, parse_sweep("dtype=bf61").values, DTYPE)
        == "unknown dtype 'bf61'\n  cause: did you mean bf16?\n  try:   -a dtype=bf16"
    )
    assert text_of(UsageError, parse_sweep("dtype[range]=1:2").values, DTYPE) == (
        "axis dtype has no numbers to count through in 'dtype[range]=1:2'\n"
        "  cause: it takes words: bf16, fp8, fp32\n"
        "  try:   -a dtype=bf16"
    )


def test_an_axis_takes_ten_thousand_values_and_not_one_more() -> None:
    typed = f"size={'1,' * 9999}1"
    assert parse_sweep(typed).values(SIZE) == (1,)
    assert text_of(UsageError, parse_sweep, f"{typed},1").startswith(f"'{typed[:40]}…' has 10,001 values\n")
    assert len(sizes("size[range]=1:10000")) == 10_000
    assert text_of(UsageError, parse_sweep, "size[range]=1:10001").startswith(
        "'size[range]=1:10001' has 10,001"
    )


def test_what_is_to_be_typed_has_no_line_of_its_own() -> None:
    said = text_of(UsageError, parse_sweep, "\nsize[pow2]=50:30:2")
    assert said.endswith("\n  try:   -a 'size[pow2]=30:50:2'")
