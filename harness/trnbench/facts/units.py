"""Units as documents print them: read exactly, decimal and binary prefixes never confused."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

import msgspec

from trnbench.errors import UnitError
from trnbench.facts.number import read_number
from trnbench.facts.scope import Scope

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


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """A unit as it was spelt: `factor` takes a printed number to the base unit of `dimension`.

    `base` is "decimal" (GB), "binary" (GiB) or "" where no prefix is a power of 1024. `per` is the
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
    known = parse_unit(unit)
    return float(read_number(printed).value * known.factor), known.dimension


def _split_per(text: str) -> tuple[str, Scope | None]:
    head, slash, tail = text.rpartition("/")
    if slash and head and tail.lower() in _PER:
        return head, _PER[tail.lower()]
    return text, None


def _read(text: str) -> tuple[str, Fraction, str, bool] | None:
    """(dimension, factor, base, integer) of a unit without its "per" suffix."""
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


def _read_operations(text: str) -> tuple[str, Fraction, str, bool] | None:
    # "47.5 FP32 TFLOP" of a device page means per second: documents drop the S.
    match = re.fullmatch(r"(kilo|mega|giga|tera|peta|exa)?(FLOPS?|OPS?)", text, re.IGNORECASE)
    if match and match[1]:
        prefix = _WORDS[match[1].lower()]
        return "flops", Fraction(10) ** _DECIMAL[prefix], "decimal", "FL" not in match[2].upper()
    match = re.fullmatch(r"([KMGTPE]?)(FLOPS?|FLOPs|OPS?)(/s|/sec)?", text)
    if match is None:
        return None
    return "flops", Fraction(10) ** _DECIMAL[match[1]], "decimal", "FL" not in match[2]


def _read_bytes(text: str) -> tuple[str, Fraction, str, bool] | None:
    match = re.fullmatch(r"([kKMGTPE]?)(i?)B(?:ytes?)?(/s|/sec|/second|ps|/ns|/us)?", text)
    if match is None or (match[2] and not match[1]) or match[1] + match[2] in ("ki", "Ei"):
        return None
    prefix, binary, per = match[1], match[2], match[3] or ""
    factor = Fraction(2) ** _BINARY[prefix + "i"] if binary else Fraction(10) ** _DECIMAL[prefix]
    base = "binary" if binary else "decimal" if prefix or per in ("/ns", "/us") else ""
    factor *= {"/ns": 10**9, "/us": 10**6}.get(per, 1)
    return ("bytes_per_s" if per else "bytes"), factor, base, False


def _read_bits(text: str) -> tuple[str, Fraction, str, bool] | None:
    match = re.fullmatch(r"([kKMGTP]?)(?:bps|b/s|b/sec|bits?/s|bits?/sec)", text)
    if match is None:
        return None
    return "bytes_per_s", Fraction(10) ** _DECIMAL[match[1]] / 8, "decimal", False


def _read_other(text: str) -> tuple[str, Fraction, str, bool] | None:
    for pattern, dimension in ((r"(.?)Hz", "hertz"), (r"(.?)W", "watts"), (r"(.?)s(?:ec)?", "seconds")):
        match = re.fullmatch(pattern, text)
        if match is None:
            continue
        prefixes = _SMALL if dimension == "seconds" else _DECIMAL
        power = 0 if match[1] == "" else prefixes.get(match[1])
        if power is not None:
            return dimension, Fraction(10) ** power, "decimal" if match[1] else "", False
    return None
