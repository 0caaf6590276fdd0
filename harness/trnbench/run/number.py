"""Numbers as people type them on the command line: 4096, 64K, 1.5M, 0.25."""

from __future__ import annotations

import re
from fractions import Fraction

from trnbench.errors import UsageError

_TYPED = re.compile(
    r"(?P<digits>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,2})?)(?P<prefix>[kmgt]?)(?:i?b)?",
    re.IGNORECASE | re.ASCII,
)
_POWERS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
SUFFIXES = "K, M, G and T stand for 2^10, 2^20, 2^30 and 2^40"


def read_number(text: str, what: str) -> Fraction:
    """The exact value of `text`; `what` names it in the message.

    Suffixes are powers of two, as in nccom-test and nccl-tests. Raises `UsageError`.
    """
    match = _TYPED.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"{text!r} is not a number", cause=f"{what} takes numbers", try_=f"4096 or 4K; {SUFFIXES}"
        )
    return Fraction(match["digits"]) * (1 << _POWERS[match["prefix"].lower()])


def read_whole(text: str, what: str) -> int:
    """`read_number` for what is counted. Raises `UsageError` for a fraction."""
    number = read_number(text, what)
    if number.denominator != 1:
        raise UsageError(
            f"{text!r} is not a whole number",
            cause=f"{what} is counted; {text} is {float(number):g}",
            try_=f"{round(number)}",
        )
    return int(number)
