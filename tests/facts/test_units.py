"""Units: every spelling that documents print, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.errors import UnitError
from trnbench.facts.fact import Scope
from trnbench.facts.units import BASE_UNITS, normalise, parse_unit, read_number

GI, TI = 2.0**30, 2.0**40

SPELLINGS = [
    # printed, unit, value, dimension: each from one of the documents
    ("3,360", "TFLOPS", 3.36e15, "flops"),
    ("47.5", "TFLOP", 47.5e12, "flops"),
    ("20.8", "PFLOPS", 20.8e15, "flops"),
    ("362", "PetaFLOPS", 362e15, "flops"),
    ("3", "petaflops", 3e15, "flops"),
    ("380", "TOPS", 380e12, "flops"),
    ("46.4", "TB/sec", 46.4e12, "bytes_per_s"),
    ("9.8", "TB/s", 9.8e12, "bytes_per_s"),
    ("1,024", "GB/sec/device", 1.024e12, "bytes_per_s"),
    ("384", "GB/sec/chip", 384e9, "bytes_per_s"),
    ("27.2", "GB/s", 27.2e9, "bytes_per_s"),
    ("820", "GiB/sec", 820 * GI, "bytes_per_s"),
    ("384", "GiB/s", 384 * GI, "bytes_per_s"),
    ("2,048", "GiB/sec/device", 2048 * GI, "bytes_per_s"),
    ("800", "Gbps", 100e9, "bytes_per_s"),
    ("up-to 25", "Gbps", 3.125e9, "bytes_per_s"),
    ("Up to 12.5", "Gbps", 1.5625e9, "bytes_per_s"),
    ("23", "B/ns", 23e9, "bytes_per_s"),
    ("512", "GiB", 512 * GI, "bytes"),
    ("512", "GB", 512e9, "bytes"),
    ("20", "TB", 20e12, "bytes"),
    ("4 x 1900", "GB", 7.6e12, "bytes"),
    ("24", "MiB", 24 * 2.0**20, "bytes"),
    ("192", "KiB", 192 * 1024.0, "bytes"),
    ("180224", "B", 180224.0, "bytes"),
    ("2.8", "GHz", 2.8e9, "hertz"),
    ("1.3", "us", 1.3e-6, "seconds"),
    ("15", "µs", 15e-6, "seconds"),
    ("1300", "ns", 1.3e-6, "seconds"),
    ("500", "W", 500.0, "watts"),
    ("222", "FLOP/B", 222.0, "flops_per_byte"),
    ("264", "cycles", 264.0, "cycles"),
    ("50", "%", 0.5, "ratio"),
    ("1/4", "x", 0.25, "ratio"),
    ("over 30,000", "", 30000.0, "count"),
    ("2x128", "elements/cycle", 256.0, "count"),
    ("512", "bits", 512.0, "count"),
    ("16", "", 16.0, "count"),
]


@pytest.mark.parametrize(("printed", "unit", "value", "dimension"), SPELLINGS)
def test_every_printed_spelling_is_read(printed: str, unit: str, value: float, dimension: str) -> None:
    assert normalise(printed, unit) == (value, dimension)


def test_decimal_and_binary_are_kept_apart() -> None:
    assert (parse_unit("GB").base, parse_unit("GiB").base, parse_unit("B").base) == ("decimal", "binary", "")
    assert normalise("820", "GiB/s")[0] / normalise("820", "GB/s")[0] == pytest.approx(1.073741824)


def test_a_suffix_names_the_scope() -> None:
    assert parse_unit("GB/sec/device").per is Scope.DEVICE
    assert parse_unit("GB/sec/chip").per is Scope.DEVICE
    assert parse_unit("GB/sec").per is None


def test_operations_and_floating_point_operations_differ() -> None:
    assert parse_unit("TOPS").integer
    assert not parse_unit("TFLOPS").integer


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (
            "TFLPOS",
            "unknown unit 'TFLPOS'\n  cause: did you mean TFLOPS or TFLOP?\n  try:   write it as the "
            "document does: TFLOPS, TB/sec, GiB/s, GB/sec/device, Gbps, GiB, GHz, us, …",
        ),
        (
            "gbps",
            "unknown unit 'gbps'\n  cause: did you mean Gbps?\n  try:   write it as the document does: "
            "TFLOPS, TB/sec, GiB/s, GB/sec/device, Gbps, GiB, GHz, us, …",
        ),
        (
            "furlong",
            "unknown unit 'furlong'\n  cause: no document prints it that way\n  try:   write it as the "
            "document does: TFLOPS, TB/sec, GiB/s, GB/sec/device, Gbps, GiB, GHz, us, …",
        ),
    ],
)
def test_an_unknown_unit_names_the_nearest(unit: str, message: str) -> None:
    with pytest.raises(UnitError) as error:
        parse_unit(unit)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "unit", ["iB", "kiB", "EiB", "GIB", "gB/fortnight", "TFLOPS/s/s", "xHz", "GiBps/core/core"]
)
def test_near_misses_are_no_units(unit: str) -> None:
    with pytest.raises(UnitError):
        parse_unit(unit)


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        (
            "-5",
            "'-5' is negative\n  cause: no documented figure of a machine is below zero\n"
            "  try:   write the printed digits without the sign, or leave the fact out",
        ),
        (
            "NaN",
            "'NaN' is not a number\n  cause: NaN and infinity stand for a missing figure, not for a fact\n"
            "  try:   leave the fact out, or write an assumption with its range",
        ),
        (
            "1-2",
            "'1-2' is a range\n  cause: a fact holds one number\n"
            "  try:   write an assumption with low and high, or two facts with a qualifier each",
        ),
        (
            "1,5",
            "cannot read '1,5' as a number\n  cause: a comma separates groups of three digits, a point the "
            "decimals\n  try:   '1.5' if decimals are meant",
        ),
        (
            "many",
            "cannot read 'many' as a number\n  cause: digits are expected, with commas between thousands if "
            'the document has them\n  try:   "3,360", "2.8", "up to 25", "over 30,000", "2x128"; words '
            "belong to a text metric",
        ),
    ],
)
def test_what_is_no_number_says_why(printed: str, message: str) -> None:
    with pytest.raises(UnitError) as error:
        normalise(printed, "GB/s")
    assert str(error.value) == message


@pytest.mark.parametrize(
    "printed", ["", " ", "inf", "−3", "1/0", "0x10", "1.2.3", "--", "3,36", "e5", "1e999", "9" * 400, "٣"]
)
def test_other_non_numbers_are_refused(printed: str) -> None:
    with pytest.raises(UnitError):
        read_number(printed)


@pytest.mark.parametrize(
    ("printed", "low", "high", "limit"),
    [
        ("2.9", 2.85, 2.95, ""),
        ("3", 2.5, 3.5, ""),
        ("13,120", 13119.5, 13120.5, ""),
        ("over 30,000", 29999.5, 30000.5, "over"),
        ("up to 12.5", 12.45, 12.55, "up-to"),
        ("4 x 1900", 7598.0, 7602.0, ""),
        ("1/4", 0.25, 0.25, ""),
    ],
)
def test_the_last_printed_digit_bounds_the_value(printed: str, low: float, high: float, limit: str) -> None:
    number = read_number(printed)
    assert (float(number.low), float(number.high), number.limit) == (low, high, limit)


def test_every_dimension_has_a_base_unit_that_is_its_own_factor() -> None:
    for unit in ("B", "B/s", "Hz", "s", "W", "cycles", "FLOP/B"):
        parsed = parse_unit(unit)
        assert parsed.factor == 1
        assert BASE_UNITS[parsed.dimension] == unit


@given(st.integers(0, 10**9), st.sampled_from(["GB/s", "GiB", "TFLOPS", "Gbps", "ns", ""]))
def test_thousands_separators_change_nothing(number: int, unit: str) -> None:
    assert normalise(f"{number:,}", unit) == normalise(str(number), unit)


@given(st.decimals(min_value=0, max_value=10**6, places=3))
def test_the_value_lies_in_its_own_interval(number: object) -> None:
    read = read_number(str(number))
    assert read.low <= read.value <= read.high
    assert float(read.high - read.low) == pytest.approx(0.001)


@given(st.integers(1, 10**6), st.sampled_from(["GB", "MB/s", "GiB", "TFLOPS", "us"]))
def test_normalising_is_linear(number: int, unit: str) -> None:
    assert normalise(str(number), unit)[0] == pytest.approx(number * normalise("1", unit)[0], rel=1e-15)
