"""Units: every spelling that documents print, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import messages
from stored_run import text_of

from trnbench.errors import UnitError
from trnbench.facts.fact import Direction, Peak, Scope
from trnbench.facts.metric import unlike
from trnbench.facts.units import (
    BASE_UNITS,
    column_unit,
    normalise,
    parse_unit,
    percent,
    read_number,
    show,
    signed_percent,
)

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


@pytest.mark.parametrize(
    ("units", "value"),
    [
        ("EFLOPS exaflops", 1e18), ("PB petaops", 1e15), ("TW", 1e12), ("GHz B/ns", 1e9),
        ("MB MHz B/us", 1e6), ("KB kB kHz kW", 1e3), ("PiB", 2.0**50), ("TiB", 2.0**40),
        ("MiB", 2.0**20), ("KiB", 2.0**10),
        ("ms", 1e-3), ("us µs μs", 1e-6), ("ns nsec", 1e-9), ("ps", 1e-12), ("bps", 1 / 8), ("percent", 0.01),
    ],
)  # fmt: skip
def test_a_prefix_is_a_power(units: str, value: float) -> None:
    assert {normalise("1", unit)[0] for unit in units.split()} == {value}


def test_decimal_and_binary_are_kept_apart() -> None:
    assert [parse_unit(unit).base for unit in ("GB", "GiB", "B/ns")] == ["decimal", "binary", "decimal"]
    assert normalise("820", "GiB/s")[0] / normalise("820", "GB/s")[0] == pytest.approx(1.073741824)


def test_a_suffix_names_the_scope() -> None:
    assert parse_unit("GB/sec/device").per is Scope.DEVICE
    assert parse_unit("GB/sec/chip").per is Scope.DEVICE
    assert parse_unit("GB/sec").per is None


def test_operations_and_floating_point_operations_differ() -> None:
    units = ("TOPS", "petaops", "TFLOPS", "petaflops", "GB")
    assert [parse_unit(unit).integer for unit in units] == [True, True, False, False, False]


@pytest.mark.parametrize(("unit", "message", "_"), messages(Path(__file__).with_name("unknown_units.txt")))
def test_an_unknown_unit_names_the_nearest(unit: str, message: str, _: int) -> None:
    assert text_of(UnitError, parse_unit, unit) == message


@pytest.mark.parametrize(
    "unit", ["iB", "kiB", "EiB", "GIB", "gB/fortnight", "TFLOPS/s/s", "xHz", "GiBps/core/core"]
)
def test_near_misses_are_no_units(unit: str) -> None:
    with pytest.raises(UnitError):
        parse_unit(unit)


@pytest.mark.parametrize(("printed", "message", "_"), messages(Path(__file__).with_name("no_numbers.txt")))
def test_what_is_no_number_says_why(printed: str, message: str, _: int) -> None:
    assert text_of(UnitError, normalise, printed, "GB/s") == message


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


# Numbers for people ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (10.7e15, "FLOP/s", "10.7 PFLOPS"),
        (380e12, "OP/s", "380 TOPS"),
        (46.4e12, "B/s", "46.4 TB/s"),
        (880468295680.0, "B/s", "880 GB/s"),
        (96 * GI, "B", "96 GiB"),
        (1536 * GI, "B", "1.5 TiB"),
        (192 * 1024.0, "B", "192 KiB"),
        (2048.0, "B", "2 KiB"),
        (512.0, "B", "512 B"),
        (1.42e-6, "s", "1.42 µs"),
        (850e-9, "s", "850 ns"),
        (0.25, "s", "250 ms"),
        (12.0, "s", "12 s"),
        (2.4e9, "Hz", "2.4 GHz"),
        (500.0, "W", "500 W"),
        (222.0, "FLOP/B", "222 FLOP/B"),
        (30000.0, "1", "30,000"),
        (0.25, "", "0.25"),
        (0.0, "B/s", "0 B/s"),
        (0.0, "1", "0"),
        (-2e9, "B/s", "−2 GB/s"),
        (0.25, "B/s", "0.25 B/s"),
        (5e-14, "s", "0.05 ps"),
        (1234.0, "B", "1.21 KiB"),
    ],
)
def test_show(value: float, unit: str, text: str) -> None:
    assert show(value, unit) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (999.7e9, "B/s", "1 TB/s"),
        (999.4e9, "B/s", "999 GB/s"),
        (1023.99 * 2**20, "B", "1 GiB"),
        (1020.0 * 2**20, "B", "1,020 MiB"),
        (0.9999e-6, "s", "1 µs"),
        (0.99999, "s", "1 s"),
    ],
)
def test_rounding_never_prints_a_thousand_of_a_prefix(value: float, unit: str, text: str) -> None:
    assert show(value, unit) == text


def test_more_digits_on_request() -> None:
    assert show(880468295680.0, "B/s", 5) == "880.47 GB/s"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_not_shown(value: float) -> None:
    with pytest.raises(ValueError, match="cannot be shown"):
        show(value, "B/s")
    with pytest.raises(ValueError, match="no share"):
        percent(value)


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (1.0, "100.0 %"),
        (0.9996, "99.9 %"),
        (0.99999, "99.9 %"),
        (0.99949, "99.9 %"),
        (1.00002, "100.1 %"),
        (1.0004, "100.1 %"),
        (1.0726, "107.3 %"),
        (0.5, "50.0 %"),
        (0.0004, "<0.1 %"),
        (0.0, "0.0 %"),
        (12.3456, "1,234.6 %"),
        (-0.035, "−3.5 %"),
        (-2e-7, "−<0.1 %"),
        (1.0 + 1e-12, "100.0 %"),
    ],
)
def test_percent(fraction: float, text: str) -> None:
    assert percent(fraction) == text


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (0.0, "0 %"), (1e-9, "+<0.001 %"), (-0.00099999999, "−0.1 %"), (0.05, "+5.0 %"), (0.0003, "+0.03 %"),
        (0.0001, "+0.01 %"), (-0.00005, "−0.005 %"), (9.994, "+999.4 %"), (-10.0, "−1,000 %"),
    ],
)  # fmt: skip
def test_signed_percent(effect: float, text: str) -> None:
    assert signed_percent(effect) == text


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ((1.5e-6, 3e-3), ("µs", 1e-6)), ((0.9996e-6,), ("µs", 1e-6)), ((0.999e-6,), ("ns", 1e-9)),
        ((1e-6, 0.0999), ("µs", 1e-6)), ((1e-6, 0.1), ("ms", 1e-3)), ((1e-6, 1e9), ("s", 1.0)),
        ((), ("s", 1.0)), ((0.0, math.nan), ("s", 1.0)), ((1e-14,), ("ps", 1e-12)),
        ((-2e-6, -3.0), ("ms", 1e-3)),
    ],
)  # fmt: skip
def test_a_column_has_the_unit_of_its_least_value_that_the_largest_fits(
    values: tuple[float, ...], unit: tuple[str, float]
) -> None:
    assert column_unit(values, "s") == unit


@given(st.floats(0, 3))
def test_only_what_is_100_percent_reads_as_100_percent(fraction: float) -> None:
    assert (percent(fraction) == "100.0 %") == math.isclose(fraction, 1.0, rel_tol=1e-9)


@given(st.floats(1e-12, 1e19), st.sampled_from(["B/s", "FLOP/s", "B", "s", "1"]))
def test_three_digits_stay_within_half_a_percent(value: float, unit: str) -> None:
    text = show(value, unit).replace(",", "")
    number, _, suffix = text.partition(" ")
    prefix = suffix.removesuffix("FLOPS").removesuffix("B/s").removesuffix("B")
    prefix = prefix.removesuffix("s") if unit == "s" else prefix
    scales = dict(zip("EPTGMk", (1e18, 1e15, 1e12, 1e9, 1e6, 1e3), strict=True)) | {"": 1.0}
    scales |= {f"{each}i": 1024.0 ** (4 - index) for index, each in enumerate("TGMK")}
    scales |= {"m": 1e-3, "µ": 1e-6, "n": 1e-9, "p": 1e-12}
    if float(number) == 0.0:
        assert value < 0.01 * (1e-12 if unit == "s" else 1.0)
    elif value >= (1e-12 if unit == "s" else 1.0):
        assert float(number) * scales[prefix] == pytest.approx(value, rel=5.01e-3)


# Comparing figures: like with like ------------------------------------------------------------------


def peak(**more: Any) -> Peak:
    return Peak(**{"metric": "neuronlink_bandwidth", "value": 2.0, "scope": Scope.DEVICE, **more})


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ({"scope": Scope.CORE}, {}, "per core against per device"),
        ({"direction": Direction.ONE_WAY}, {"direction": Direction.BOTH_WAYS}, "one way against both ways"),
        ({"sparse": True}, {}, "sparse against dense"),
        ({}, {"metric": "hbm_capacity"}, "a data rate against an amount of data"),
        ({"direction": Direction.UNSTATED}, {"direction": Direction.ONE_WAY}, ""),
    ],
)
def test_unlike_figures_are_not_compared(one: dict[str, Any], other: dict[str, Any], difference: str) -> None:
    assert unlike(peak(**one), peak(**other)) == difference
