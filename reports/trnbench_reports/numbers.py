"""Numbers and words as people read them: no break before a unit, gains, every digit."""

from __future__ import annotations

import math
import re
from typing import Any

from trnbench import METRICS, signed_error
from trnbench import percent as core_percent
from trnbench import show as core_show

NBSP = "\u00a0"
_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def unit_of(metric: str) -> str:
    """The base unit of a documented metric; "" for counts, words and metrics unknown here."""
    kind = METRICS.get(metric)
    return "" if kind is None or kind.unit == "1" else kind.unit


def significant(value: float, digits: int = 3) -> str:
    """`value` with so many significant digits, thousands grouped, zeros kept: a column lines up."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    if rounded and math.floor(math.log10(abs(rounded))) > math.floor(math.log10(abs(value))):
        places -= 1  # 9.996 became 10.0: one decimal less
    if places > 9:
        return f"{value:.{digits - 1}e}"
    return f"{rounded:,.{max(places, 0)}f}"


def show(value: float, unit: str, digits: int = 3) -> str:
    """A single number with its own prefix: "10 PFLOPS", "46.4 TB/s", "96 GiB", "1.42 µs"."""
    if not math.isfinite(value):
        return str(value)
    if unit == "1/s":  # how often: "4.31 M/s"
        step, prefix = next((pair for pair in _PREFIXES if abs(value) >= pair[0]), _PREFIXES[-1])
        return f"{significant(value / step, digits)}{NBSP}{prefix}/s"
    return core_show(value, unit, digits).replace(" ", NBSP)


def percent(fraction: float) -> str:
    """One decimal; what is not 100 % never reads as 100 %."""
    if not math.isfinite(fraction):
        return str(fraction)
    return core_percent(fraction).replace(" ", NBSP)


def error(e: float | None) -> str:
    """An error of a time, ln(model / published), and which way: `+302 %`, `−35 %`, `÷2.7`; "–" for none."""
    return "–" if e is None else signed_error(e).replace(" ", NBSP)


def times(ratio: float) -> str:
    """A gain: "0.87×", "2.1×", "14×"."""
    return f"{ratio:.2f}×" if ratio < 1 else f"{ratio:.1f}×" if ratio < 10 else f"{ratio:,.0f}×"


def exact(value: float) -> str:
    """Every digit that is stored, for titles and data."""
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)


# C0/C1 controls and lone surrogates cannot stand in HTML; the bidirectional ones reorder their neighbours.
_BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_BIDI = re.compile("[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def clean(text: Any, limit: int = 400) -> str:
    """Printable, at most `limit` characters; the whole string stays in the embedded data."""
    printable = str(text)
    # Python's own answer is the quicker one; of what it calls unprintable most is a space that may not break.
    if not printable.isprintable():
        printable = _BIDI.sub("", _BAD.sub("\ufffd", printable))
    return printable if len(printable) <= limit else printable[: limit - 1] + "…"


def valid(text: str) -> str:
    """Nothing that HTML or UTF-8 cannot carry; all else untouched."""
    return _BAD.sub("\ufffd", text)


def moment(stamp: str) -> str:
    """`2026-11-20 21:04 UTC` of an ISO 8601 time; anything else as it is."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)", stamp)
    return f"{match[1]} {match[2]} UTC" if match else clean(stamp, 40)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(items: list[str], joint: str = "and") -> str:
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {joint} {items[-1]}"
