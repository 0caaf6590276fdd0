"""A number as printed: its exact value, its bound word, and how far its last digit may be off."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import msgspec

from trnbench.errors import UnitError

_DIGITS = r"(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,21})(?:\.\d{1,21})?|\.\d{1,21}"
# No document prints more digits or larger powers, and a typing error must not take all memory.
_PLAIN = re.compile(rf"({_DIGITS})(?:[eE]([+-]?\d{{1,2}}))?", re.ASCII)
_LIMITS = ((r"up[ -]to", "up-to"), (r"over|more than|above", "over"))


class Number(msgspec.Struct, frozen=True, kw_only=True):
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
    value, slack = _read(text.strip(), printed)
    return Number(value=value, low=value - slack, high=value + slack, limit=limit)


def _read(text: str, printed: str) -> tuple[Fraction, Fraction]:
    plain = _PLAIN.fullmatch(text)
    if plain:
        scale = Fraction(10) ** int(plain[2] or 0)
        digits = plain[1].replace(",", "")
        places = len(digits.partition(".")[2])
        return Fraction(Decimal(digits)) * scale, scale / 10**places / 2
    factors = re.split(r"\s*[x×]\s*", text)
    # "0x10" is a hexadecimal number that no document prints, not nought times ten.
    if len(factors) == 2 and all(_PLAIN.fullmatch(each) for each in factors) and factors[0] != "0":
        (count, _), (each, slack) = _read(factors[0], printed), _read(factors[1], printed)
        return count * each, count * slack
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
