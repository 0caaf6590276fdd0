"""Numbers for people."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.facts.units import percent, show

GI = 2.0**30


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
        (1.0 + 1e-12, "100.0 %"),
    ],
)
def test_percent(fraction: float, text: str) -> None:
    assert percent(fraction) == text


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
