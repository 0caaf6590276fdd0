"""Numbers for people: three digits, decimal prefixes for rates, binary ones for capacities."""

from __future__ import annotations

import math

_DECIMAL = (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))
_SMALL = (("", 1.0), ("m", 1e-3), ("µ", 1e-6), ("n", 1e-9), ("p", 1e-12))
_BINARY = (("Ti", 2.0**40), ("Gi", 2.0**30), ("Mi", 2.0**20), ("Ki", 2.0**10), ("", 1.0))
_NAMES = {"FLOP/s": "FLOPS", "OP/s": "OPS"}
_DECIMAL_UNITS = ("FLOP/s", "OP/s", "B/s", "Hz", "W", "element/s")


def show(value: float, unit: str, digits: int = 3) -> str:
    """A value of a base unit with `digits` significant digits: "10.7 PFLOPS", "96 GiB", "1.42 µs".

    `unit` is one of the base units of `facts.units`; "1" or "" is a bare number. Raises
    `ValueError` for NaN and infinity: what has no value has to say why instead.
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} {unit} cannot be shown: it is no number")
    sign, size = ("−" if value < 0 else ""), abs(value)
    if unit in _DECIMAL_UNITS:
        text = _scaled(size, _DECIMAL, _NAMES.get(unit, unit), digits)
    elif unit == "s":
        text = _scaled(size, _SMALL, "s", digits)
    elif unit == "B":
        text = _scaled(size, _BINARY, "B", digits, step=1024)
    else:
        text = _plain(size, digits) + (f" {unit}" if unit not in ("", "1") else "")
    return sign + text


def percent(fraction: float) -> str:
    """One decimal; what is not 100 % never reads as 100 %.

    99.96 % is printed "99.9 %", 100.02 % is "100.1 %", 0.02 % is "<0.1 %".
    """
    if not math.isfinite(fraction):
        raise ValueError(f"{fraction} is no share of anything")
    share = fraction * 100
    if math.isclose(share, 100, rel_tol=1e-9):
        return "100.0 %"
    if share == 0:
        return "0.0 %"
    if 0 < share < 0.1:
        return "<0.1 %"
    rounded = round(share, 1)
    if share < 100 <= rounded:
        rounded = 99.9
    if share > 100 >= rounded:
        rounded = 100.1
    text = f"{rounded:,.1f} %"
    return text.replace("-", "−")


def _scaled(
    size: float, prefixes: tuple[tuple[str, float], ...], unit: str, digits: int, step: int = 1000
) -> str:
    if size == 0:
        return f"0 {unit}"
    for index, (prefix, scale) in enumerate(prefixes):
        last = index == len(prefixes) - 1
        if size >= scale or last:
            # 999.7 GB/s at three digits is 1 TB/s, not 1,000 GB/s.
            if index and round_to(size / scale, digits) >= step:
                prefix, scale = prefixes[index - 1]
            return f"{_plain(size / scale, digits)} {prefix}{unit}"
    raise AssertionError("the last prefix takes everything")


def round_to(value: float, digits: int) -> float:
    """`value` to `digits` significant digits; whole numbers keep all of theirs."""
    if value == 0:
        return 0.0
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return round(value, max(places, 0))


def _plain(value: float, digits: int) -> str:
    rounded = round_to(value, digits)
    if rounded == 0:
        return "0"
    places = max(digits - 1 - math.floor(math.log10(abs(rounded))), 0)
    text = f"{rounded:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
