"""A number as people and other programs write it: finite, of few digits, within the range of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from trnbench.errors import UsageError, quoted

if TYPE_CHECKING:
    import re
    from fractions import Fraction

LONGEST = 40
"""Characters of a number at most: no figure that anybody measures has more, and a slip of the keyboard
must not cost memory."""

POWERS_OF_TWO: Mapping[str, int] = {
    f"{prefix}{tail}": 1 << power
    for prefix, power in (("", 0), ("k", 10), ("m", 20), ("g", 30), ("t", 40))
    for tail in ("", "b", "ib")
}
"""Suffixes of sizes, as in nccom-test and nccl-tests: 64K is 65,536."""

OF_A_SECOND: Mapping[str, str] = {"ns": "1e-9", "us": "1e-6", "µs": "1e-6", "ms": "1e-3", "s": "1"}
UNSAID = 2.0**44
"""A bound from here on is only there to keep arithmetic sane, and is not worth a word."""
NO_UNIT: Mapping[str, int] = {"": 1}


@cache
def _form() -> re.Pattern[str]:
    import re

    # ASCII: what prints as a digit in another script is no digit here, and an underscore is none.
    digits = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?"
    return re.compile(rf"(?P<digits>{digits}) ?(?P<unit>[a-zA-Zµ%]*)")


class Number(NamedTuple):
    """A kind of number: what it is called, and between which bounds it makes sense.

    `least` and `most` are in the base unit, both allowed. `smallest` is the least that is not 0, where 0
    has a meaning of its own. `units` are the suffixes it may have, in lower case, each with the factor
    to the base unit, as a text where it is no whole number; without "" among them one is required.
    """

    noun: str  # "time limit": --timeout x is no …
    about: str  # what a person may write, for the second line of the message
    example: str
    least: float
    most: float
    smallest: float = 0.0
    whole: bool = False
    floored: bool = False  # 0.1K is 102: what is counted is rounded down
    units: Mapping[str, int] | Mapping[str, str] = NO_UNIT

    def parsed(self, text: str) -> Fraction | None:
        """The exact value of `text` in the base unit; None for everything that is no such number."""
        text = text.strip()
        match = _form().fullmatch(text) if len(text) <= LONGEST else None
        unit = self.units.get(match["unit"].lower()) if match else None
        if match is None or unit is None:
            return None
        from fractions import Fraction  # brings decimal along, and most commands read no number

        value = Fraction(match["digits"]) * Fraction(unit)
        return value if self.fits(value) else None

    def fits(self, value: float | Fraction) -> bool:
        """Whether a number that is one already is of this kind; NaN and infinity are of none."""
        bounds: tuple[Any, ...] = (self.least, self.most, self.smallest)
        if not isinstance(value, int | float):
            bounds = tuple(map(_as_written, bounds))
        least, most, smallest = bounds
        return bool(
            least <= value <= most
            and (not value or abs(value) >= smallest)
            and (not self.whole or value == int(value))
        )

    def read(self, text: str, name: str) -> Fraction:
        """`parsed`; `name` is the option, variable or key. Raises `UsageError`."""
        value = self.parsed(text)
        if value is None:
            raise self.error(text, name)
        return value

    def real(self, text: str, name: str) -> float:
        """`read`, as a float."""
        return float(self.read(text, name))

    def counted(self, text: str, name: str) -> int:
        """`read`, rounded down where the kind allows for it."""
        return int(self.read(text, name))

    def checked(self, value: float, name: str) -> float:
        """`value`, of an interface or a file. Raises `UsageError`."""
        if not self.fits(value):
            raise self.error(value, name)
        return value

    @property
    def range(self) -> str:
        """ "0 to 4,096": the bounds, for a message."""
        return f"{_plain(self.least)} to {_plain(self.most)}"

    def error(self, given: object, name: str) -> UsageError:
        """What to say of `given` under `name`."""
        shown = (
            quoted(given) if isinstance(given, str) else f"{given:g}" if isinstance(given, float) else given
        )
        return UsageError(
            f"{name} {shown} is no {self.noun}",
            cause=f"{self.about}, {self.range}" if self.most < UNSAID else self.about,
            try_=f"{name} {self.example}",
        )


@cache
def _as_written(bound: float) -> Fraction:
    """For what is exact: 0.001 is a thousandth, which no float is."""
    from fractions import Fraction

    return Fraction(repr(bound))


def _plain(value: float) -> str:
    return f"{int(value):,}" if value == int(value) and value < 1e15 else f"{value:g}"
