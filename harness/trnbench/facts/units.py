"""Units and numbers as printed, read into SI base units; and base units shown to people."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from trnbench.errors import UnitError
from trnbench.facts.fact import Scope
from trnbench.record import Record

_DIGITS = r"(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,21})(?:\.\d{1,21})?|\.\d{1,21}"
# No document prints more digits or larger powers, and a typing error must not take all memory.
_PLAIN = re.compile(rf"({_DIGITS})(?:[eE]([+-]?\d{{1,2}}))?", re.ASCII)
_LIMITS = ((r"up[ -]to", "up-to"), (r"over|more than|above", "over"))


class Number(Record, kw_only=True):
    """`low` to `high` is what the printed digits can stand for: half a unit of the last one.

    `limit` is "up-to" or "over" where the words say that the number is a bound.
    """

    value: Fraction
    low: Fraction
    high: Fraction
    limit: str = ""


def read_number(printed: str) -> Number:
    """The number in "3,360", "2.8", "over 30,000", "up to 12.5", "2x128", "1/4", "~16".

    Raises `UnitError` for anything else: no digits, a comma that groups no three digits, a range,
    a negative number, NaN.
    """
    text = printed.strip()
    limit = ""
    for pattern, name in _LIMITS:
        match = re.match(rf"(?:{pattern})\s+", text, re.IGNORECASE)
        if match:
            limit, text = name, text[match.end() :]
    approximate = re.match(r"(?:~|≈|about\s+)\s*", text)
    if approximate:
        text = text[approximate.end() :]
    value, slack = _read_digits(text.strip(), printed)
    return Number(value=value, low=value - slack, high=value + slack, limit=limit)


def _read_digits(text: str, printed: str) -> tuple[Fraction, Fraction]:
    plain = _PLAIN.fullmatch(text)
    if plain:
        scale = Fraction(10) ** int(plain[2] or 0)
        digits = plain[1].replace(",", "")
        places = len(digits.partition(".")[2])
        return Fraction(Decimal(digits)) * scale, scale / 10**places / 2
    factors = re.split(r"\s*[x×]\s*", text)
    # "0x10" is a hexadecimal number that no document prints, not nought times ten.
    if len(factors) == 2 and all(_PLAIN.fullmatch(factor) for factor in factors) and factors[0] != "0":
        (count, _), (factor, slack) = _read_digits(factors[0], printed), _read_digits(factors[1], printed)
        return count * factor, count * slack
    fraction = re.fullmatch(r"(\d{1,9})\s*/\s*(\d{1,9})", text, re.ASCII)
    if fraction and int(fraction[2]):
        return Fraction(int(fraction[1]), int(fraction[2])), Fraction(0)
    raise _unreadable(text, printed)


def _unreadable(text: str, printed: str) -> UnitError:
    if re.match(r"[-−]\s*\.?\d", text):
        return UnitError(
            f"{printed!r} is negative",
            cause="no documented figure of a machine is below zero",
            try_="write the printed digits without the sign, or leave the fact out",
        )
    if re.match(r"[+-]?(nan|inf)", text, re.IGNORECASE):
        return UnitError(
            f"{printed!r} is not a number",
            cause="NaN and infinity stand for a missing figure, not for a fact",
            try_="leave the fact out, or write an assumption with its range",
        )
    if re.fullmatch(rf"({_DIGITS})\s*(-|–|to)\s*({_DIGITS})", text):
        return UnitError(
            f"{printed!r} is a range",
            cause="a fact holds one number",
            try_="write an assumption with low and high, or two facts with a qualifier each",
        )
    if re.fullmatch(r"[\d,]*,[\d,.]*", text):
        return UnitError(
            f"cannot read {printed!r} as a number",
            cause="a comma separates groups of three digits, a point the decimals",
            try_=f"{text.replace(',', '.', 1)!r} if decimals are meant",
        )
    return UnitError(
        f"cannot read {printed!r} as a number",
        cause="digits are expected, with commas between thousands if the document has them",
        try_='"3,360", "2.8", "up to 25", "over 30,000", "2x128"; words belong to a text metric',
    )


BASE_UNITS = {
    "flops": "FLOP/s",
    "bytes_per_s": "B/s",
    "elements_per_s": "element/s",
    "bytes": "B",
    "hertz": "Hz",
    "seconds": "s",
    "watts": "W",
    "flops_per_byte": "FLOP/B",
    "cycles": "cycles",
    "ratio": "1",
    "count": "1",
    "text": "",
}
"""Dimension → the SI base unit its values are kept in."""

DIMENSIONS = {
    "flops": "a rate of operations",
    "bytes_per_s": "a data rate",
    "elements_per_s": "a rate of elements",
    "bytes": "an amount of data",
    "hertz": "a clock",
    "seconds": "a time",
    "watts": "a power",
    "flops_per_byte": "operations per byte",
    "cycles": "clock cycles",
    "ratio": "a ratio",
    "count": "a count",
    "text": "words",
}
"""Dimension → what it is, for people."""

_DECIMAL = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SMALL = {"m": -3, "u": -6, "µ": -6, "μ": -6, "n": -9, "p": -12}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}
_WORDS = {"kilo": "k", "mega": "M", "giga": "G", "tera": "T", "peta": "P", "exa": "E"}
_PER = {
    "device": Scope.DEVICE,
    "chip": Scope.DEVICE,
    "core": Scope.CORE,
    "neuroncore": Scope.CORE,
    "engine": Scope.ENGINE,
    "instance": Scope.INSTANCE,
    "server": Scope.INSTANCE,
    "ultraserver": Scope.ULTRASERVER,
}
_COUNTS: tuple[str, ...] = (
    *("count", "elements", "elements/cycle", "partitions", "banks", "rows", "columns", "chips"),
    *("bits", "cores", "devices", "engines", "instances", "servers", "adapters", "ports", "stacks", "links"),
)
_SPELLINGS: tuple[str, ...] = (
    *("TFLOPS", "TFLOP", "PFLOPS", "PetaFLOPS", "GFLOPS", "TOPS", "POPS"),
    *("GB/sec", "GiB/sec", "TB/sec", "GB/s", "GiB/s", "TB/s", "MB/s", "KB/s", "MiB/s", "KiB/s", "TiB/s"),
    *("GB/sec/device", "GiB/sec/device", "GB/s/device", "Gbps", "Tbps", "Mbps", "B/ns", "B/s"),
    *("GiB", "GB", "TB", "TiB", "MiB", "MB", "KiB", "KB", "B", "GHz", "MHz", "Hz", "s", "ms", "us", "µs"),
    *("ns", "ps", "W", "kW", "FLOP/B", "cycles", "%", "x"),
)


class Unit(Record, kw_only=True):
    """A unit as it was spelt: `factor` takes a printed number to the base unit of `dimension`.

    `base` is "binary" (GiB), or "decimal" where bytes or operations have no such prefix. `per` is the
    scope a suffix names ("GB/sec/device"), `integer` tells TOPS from TFLOPS.
    """

    spelling: str
    dimension: str
    factor: Fraction
    base: str = ""
    per: Scope | None = None
    integer: bool = False

    @property
    def letter(self) -> str:
        """The unit with its base forgotten: "GiB/sec" and "GB/s" both give "GB/s"."""
        words = self.spelling.replace("iB", "B").replace("/second", "/s").replace("/sec", "/s")
        return "/".join(word for word in words.split("/") if word.lower() not in _PER)


@lru_cache(maxsize=256)
def parse_unit(spelling: str) -> Unit:
    """The unit that `spelling` names; "" is a count.

    Raises `UnitError` for what no document prints, with the nearest known spelling.
    """
    text = spelling.strip()
    head, per = _split_per(text)
    unit = _read(head)
    if unit is None:
        from difflib import get_close_matches

        near = get_close_matches(text, _SPELLINGS, n=2, cutoff=0.5)
        folded = {known.lower(): known for known in _SPELLINGS}.get(text.lower())
        near = [folded] if folded else near
        raise UnitError(
            f"unknown unit {spelling!r}",
            cause=f"did you mean {' or '.join(near)}?" if near else "no document prints it that way",
            try_="write it as the document does: TFLOPS, TB/sec, GiB/s, GB/sec/device, Gbps, GiB, GHz, us, …",
        )
    dimension, factor, base, integer = unit
    return Unit(spelling=text, dimension=dimension, factor=factor, base=base, per=per, integer=integer)


def normalise(printed: str, unit: str) -> tuple[float, str]:
    """(value in the base unit, dimension) of a printed number: ("3,360", "TFLOPS") → (3.36e15, "flops").

    Exact: the decimal digits are multiplied as fractions and rounded to a float once.
    Raises `UnitError` for a number or a unit that cannot be read, and for negative values.
    """
    parsed = parse_unit(unit)
    return float(read_number(printed).value * parsed.factor), parsed.dimension


def _split_per(text: str) -> tuple[str, Scope | None]:
    head, slash, tail = text.rpartition("/")
    if slash and head and tail.lower() in _PER:
        return head, _PER[tail.lower()]
    return text, None


_Parts: TypeAlias = tuple[str, Fraction, str, bool]
"""Dimension, factor, base and integer of a `Unit`."""


def _read(text: str) -> _Parts | None:
    """A unit without its "per" suffix."""
    if text in ("", *_COUNTS):
        return "count", Fraction(1), "", False
    if text in ("x", "×", "times"):
        return "ratio", Fraction(1), "", False
    if text in ("%", "percent"):
        return "ratio", Fraction(1, 100), "", False
    if text in ("cycle", "cycles"):
        return "cycles", Fraction(1), "", False
    if re.fullmatch(r"FLOPS?/(B|[Bb]yte)", text):
        return "flops_per_byte", Fraction(1), "", False
    return _read_operations(text) or _read_bytes(text) or _read_bits(text) or _read_other(text)


def _read_operations(text: str) -> _Parts | None:
    # "47.5 FP32 TFLOP" of a device page means per second: documents drop the S.
    match = re.fullmatch(r"(kilo|mega|giga|tera|peta|exa)?(FLOPS?|OPS?)", text, re.IGNORECASE)
    if match and match[1]:
        prefix = _WORDS[match[1].lower()]
        return "flops", Fraction(10) ** _DECIMAL[prefix], "decimal", "FL" not in match[2].upper()
    match = re.fullmatch(r"([KMGTPE]?)(FLOPS?|FLOPs|OPS?)(/s|/sec)?", text)
    if match is None:
        return None
    return "flops", Fraction(10) ** _DECIMAL[match[1]], "decimal", "FL" not in match[2]


def _read_bytes(text: str) -> _Parts | None:
    match = re.fullmatch(r"([kKMGTPE]?)(i?)B(?:ytes?)?(/s|/sec|/second|ps|/ns|/us)?", text)
    if match is None or (match[2] and not match[1]) or match[1] + match[2] in ("ki", "Ei"):
        return None
    prefix, binary, per = match[1], match[2], match[3] or ""
    factor = Fraction(2) ** _BINARY[prefix + "i"] if binary else Fraction(10) ** _DECIMAL[prefix]
    factor *= {"/ns": 10**9, "/us": 10**6}.get(per, 1)
    return ("bytes_per_s" if per else "bytes"), factor, "binary" if binary else "decimal", False


def _read_bits(text: str) -> _Parts | None:
    match = re.fullmatch(r"([kKMGTP]?)(?:bps|b/s|b/sec|bits?/s|bits?/sec)", text)
    if match is None:
        return None
    return "bytes_per_s", Fraction(10) ** _DECIMAL[match[1]] / 8, "decimal", False


def _read_other(text: str) -> _Parts | None:
    for pattern, dimension in ((r"(.?)Hz", "hertz"), (r"(.?)W", "watts"), (r"(.?)s(?:ec)?", "seconds")):
        match = re.fullmatch(pattern, text)
        if match is None:
            continue
        prefixes = _SMALL if dimension == "seconds" else _DECIMAL
        power = 0 if match[1] == "" else prefixes.get(match[1])
        if power is not None:
            return dimension, Fraction(10) ** power, "", False
    return None


_DECIMAL_PREFIXES = (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))
_TIME_PREFIXES = (("", 1.0), ("m", 1e-3), ("µ", 1e-6), ("n", 1e-9), ("p", 1e-12))
_BINARY_PREFIXES = (("Ti", 2.0**40), ("Gi", 2.0**30), ("Mi", 2.0**20), ("Ki", 2.0**10), ("", 1.0))
_PRINTED_NAMES = {"FLOP/s": "FLOPS", "OP/s": "OPS"}
_DECIMAL_UNITS = ("FLOP/s", "OP/s", "B/s", "Hz", "W", "element/s")


def show(value: float, unit: str, digits: int = 3) -> str:
    """A value of a base unit with `digits` significant digits: "10.7 PFLOPS", "96 GiB", "1.42 µs".

    `unit` is one of the base units of `facts.units`; "1" or "" is a bare number. Raises
    `ValueError` for NaN and infinity: what has no value has to say why instead.
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} {unit} cannot be shown: it is no number")
    sign, size = ("−" if value < 0 else ""), abs(value)
    printed, prefixes = _prefixes(unit)
    return sign + _scaled(size, prefixes, printed, digits, step=1024 if unit == "B" else 1000).rstrip()


def column_unit(values: Iterable[float], unit: str) -> tuple[str, float]:
    """The unit that a column of `values` is headed by, and its size in base units: ("µs", 1e-6).

    It is that of the least, or the first larger one in which the largest has no more than five digits.
    """
    printed, prefixes = _prefixes(unit)
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    least, most = min(sizes, default=1.0), max(sizes, default=1.0)
    rising = sorted(prefixes, key=lambda each: each[1])
    fitting = [each for each in rising if round_to(least / each[1], 3) >= 1] or rising[:1]
    first = rising.index(fitting[-1])
    prefix, scale = next((each for each in rising[first:] if most / each[1] < 1e5), rising[-1])
    return f"{prefix}{printed}", scale


def _prefixes(unit: str) -> tuple[str, tuple[tuple[str, float], ...]]:
    if unit in _DECIMAL_UNITS:
        return _PRINTED_NAMES.get(unit, unit), _DECIMAL_PREFIXES
    if unit == "s":
        return "s", _TIME_PREFIXES
    if unit == "B":
        return "B", _BINARY_PREFIXES
    return ("" if unit == "1" else unit), (("", 1.0),)


def percent(fraction: float) -> str:
    """One decimal; what is not 100 % never reads as 100 %.

    99.96 % is printed "99.9 %", 100.02 % is "100.1 %", 0.02 % is "<0.1 %", −0.02 % is "−<0.1 %".
    """
    if not math.isfinite(fraction):
        raise ValueError(f"{fraction} is no share of anything")
    share = fraction * 100
    if math.isclose(share, 100, rel_tol=1e-9):
        return "100.0 %"
    if share == 0:
        return "0.0 %"
    if abs(share) < 0.1:
        return f"{'−' * (share < 0)}<0.1 %"
    rounded = round(share, 1)
    if share < 100 <= rounded:
        rounded = 99.9
    if share > 100 >= rounded:
        rounded = 100.1
    text = f"{rounded:,.1f} %"
    return text.replace("-", "−")


def signed_percent(effect: float) -> str:
    """`+5.0 %`, `−0.03 %`: as many digits as tell it from nothing."""
    share = 100.0 * effect
    if not share:
        return "0 %"
    size = round(abs(share), 6)  # 0.09999999 is 0.1
    digits = 1 if size >= 0.1 else 2 if size >= 0.01 else 3
    text = f"{size:,.0f}" if size >= 1000 else f"{size:.{digits}f}"
    if not text.strip("0."):
        text = "<0.001"
    return f"{'+' if share > 0 else '−'}{text} %"


def _scaled(size: float, prefixes: tuple[tuple[str, float], ...], unit: str, digits: int, step: int) -> str:
    if size == 0:
        return f"0 {unit}"
    fitting = (index for index, (_, scale) in enumerate(prefixes) if size >= scale)
    index = next(fitting, len(prefixes) - 1)
    # 999.7 GB/s at three digits is 1 TB/s, not 1,000 GB/s.
    if index and round_to(size / prefixes[index][1], digits) >= step:
        index -= 1
    prefix, scale = prefixes[index]
    return f"{_plain(size / scale, digits)} {prefix}{unit}"


def round_to(value: float, digits: int) -> float:
    """`value` to `digits` significant digits; whole numbers keep all of theirs."""
    if value == 0:
        return 0.0
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return round(value, max(places, 0))


def _plain(value: float, digits: int) -> str:
    rounded = round_to(value, digits)
    places = max(digits - 1 - math.floor(math.log10(abs(rounded))), 0)
    text = f"{rounded:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
