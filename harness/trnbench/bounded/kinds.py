"""Every kind of number that an option, a setting or a variable takes, with the bounds it makes sense in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

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
UNSAID = 2.0**45
"""A bound from here on is only there to keep arithmetic sane, and is not worth a word."""
NO_UNIT: Mapping[str, int] = {"": 1}
COUNTED_IN: Mapping[str, int] = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
"""Suffixes of counts that are axes too, or as long: what `-a kv=4K` takes, `--kv 4K` does."""


@cache
def _form() -> re.Pattern[str]:
    import re

    # ASCII: what prints as a digit in another script is no digit here, and an underscore is none.
    digits = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?"
    return re.compile(rf"(?P<digits>{digits}) ?(?P<unit>[a-zA-Zµ%]*)")


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is one: True and False are words."""
    return isinstance(value, int | float) and not isinstance(value, bool)


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

    def read(self, text: str, name: str, example: str = "") -> Fraction:
        """`parsed`; `name` is the option, variable or key, `example` what to type where that is no option.

        Raises `UsageError`.
        """
        value = self.parsed(text)
        if value is None:
            raise self.error(text, name, example)
        return value

    def real(self, text: str, name: str) -> float:
        """`read`, as a float."""
        return float(self.read(text, name))

    def counted(self, text: str, name: str) -> int:
        """`read`, rounded down where the kind allows for it."""
        return int(self.read(text, name))

    def checked(self, value: float, name: str) -> float:
        """`value`, of an interface or a file, as a number of Python's own. Raises `UsageError`."""
        plain = value if is_number(value) else _own_number(value)
        if plain is None or not self.fits(plain):
            raise self.error(value, name)
        return plain

    @property
    def range(self) -> str:
        """ "0 to 4,096", "0 or 0.001 to 60", "1 ns to 100,000 s": the bounds, for a message."""
        least = f"0 or {self.smallest:g}" if self.smallest else self._bound(self.least)
        return f"{least} to {self._bound(self.most)}"

    def _bound(self, value: float) -> str:
        """With the largest unit that is no larger, where a unit is required."""
        fitting = [(float(factor), unit) for unit, factor in self.units.items() if float(factor) <= value]
        if "" in self.units or not fitting:
            return _plain(value)
        factor, unit = max(fitting)
        return f"{_plain(value / factor)}{unit}" if unit == "%" else f"{_plain(value / factor)} {unit}"

    def error(self, given: object, name: str, example: str = "") -> UsageError:
        """What to say of `given` under `name`."""
        shown = (
            quoted(given) if isinstance(given, str) else f"{given:g}" if isinstance(given, float) else given
        )
        long = isinstance(given, str) and len(given.strip()) > LONGEST
        unsaid = f"a number has up to {LONGEST} characters" if long else self.about
        return UsageError(
            f"{name} {shown} is no {self.noun}",
            cause=f"{self.about}, {self.range}" if self.most < UNSAID else unsaid,
            try_=example or f"{name} {self.example}",
        )


def _own_number(value: Any) -> int | float | None:
    """Of what counts or measures, such as NumPy's; None of anything else, texts among them."""
    for kind, of_its_own in ((int, "__index__"), (float, "__float__")):
        if hasattr(value, of_its_own):
            try:
                return kind(value)
            except (TypeError, ValueError, OverflowError):  # an array of several
                return None
    return None


@cache
def _as_written(bound: float) -> Fraction:
    """For what is exact: 0.001 is a thousandth, which no float is."""
    from fractions import Fraction

    return Fraction(repr(bound))


def _plain(value: float) -> str:
    return f"{int(value):,}" if value == int(value) and value < 1e15 else f"{value:g}"


COUNTED = 2**53
"""Whole numbers up to here are exact as floats, and in every JSON reader."""

# How a run is carried out.
JOBS = Number(
    "number of processes", "it counts processes, 0 for as many as pay off", "1", 0, 4096, whole=True
)
TIME_LIMIT = Number(
    "time limit", "a limit is a number of seconds, 0 for none", "60", 0, 10_000_000, smallest=0.001
)
SAMPLING = Number(
    "time",
    "it is seconds of sampling for each case, 0 for the backend's own choice",
    "2",
    0,
    100_000,
    smallest=1e-6,
)
PROCESSES = Number(
    "number of processes", "it counts the processes that measure one case", "3", 1, 1000, whole=True
)
QUIET = Number(
    "time", "it is seconds to wait for a quiet machine, 0 for none", "600", 0, 10_000_000, smallest=0.001
)
MOST_FAILED = Number(
    "number of cases", "it counts failed and suspect cases, 0 for no limit", "1", 0, COUNTED, whole=True
)
RETRIES = Number(
    "number of tries",
    "it counts how often a case that crashed or hung is tried again",
    "1",
    0,
    1000,
    whole=True,
)
SEED = Number("seed", "a seed is a whole number from 0 to 2^64 − 1", "1", 0, 2**64 - 1, whole=True)

RANKS = Number(
    "number of ranks", "it counts ranks of a collective, 0 where the file says", "64", 0, 2**20, whole=True
)

# What is kept of runs and of the model's errors.
KEPT = Number("number of runs", "it counts the newest runs, from 0 on", "10", 0, COUNTED, whole=True)
SAMPLE = Number("number of cases", "it counts cases", "10000", 1, COUNTED, whole=True, units=COUNTED_IN)
DAYS = Number("age", "it is a number of days", "30", 0, 36_500)
BROKEN = Number(
    "number of points", "it counts published inequalities, from 0 on", "0", 0, COUNTED, whole=True
)
PERCENT = Number("percentage", "it is a number with % behind it", "3%", 0, 1_000_000, units={"%": 1})

# Kernels of one's own.
INSTRUCTIONS = Number(
    "number of instructions", "it counts instructions", "20000000", 1, 10**12, whole=True, units=COUNTED_IN
)
TOLERANCE = Number("tolerance", "it is a share of the largest value", "0.01", 0, 1_000_000)
MEMORY = Number(
    "size", "a size is a number of bytes, with K, M or G behind it", "4G", 1, 2**50, floored=True,
    units=POWERS_OF_TWO,
)  # fmt: skip
TRACE = MEMORY._replace(example="64M")
DIMENSION = Number("dimension", "a dimension counts elements", "512", 1, 2**40, whole=True)
PROGRAMS = Number("number of programs", "it counts programs of a grid", "2", 1, 2**31 - 1, whole=True)

# Models, and how they are laid out.
WIDTH = Number("width", "it counts features, heads, words or tokens", "4096", 1, 2**31 - 1, whole=True)
OPTIONAL = Number("count", "it counts what a model may lack, 0 for none", "0", 0, 2**31 - 1, whole=True)
LAYERS = Number("number of layers", "it counts layers", "32", 1, 4096, whole=True)
DEGREE = Number("degree", "it counts ranks that share the work", "8", 1, 2**20, whole=True, units=COUNTED_IN)
SEQUENCES = Number("batch", "it counts sequences", "16", 1, 2**31 - 1, whole=True, units=COUNTED_IN)
TOKENS = Number("length", "it counts tokens", "4096", 1, 2**31 - 1, whole=True, units=COUNTED_IN)

# Plans.
AWAITED = Number(
    "time", "it is a time above 0 with ms or s behind it", "20ms", 1e-9, 100_000, units=OF_A_SECOND
)
REQUESTS = Number("rate", "it is a number of requests a second", "4", 1e-6, 10**9)
UTILISATION = Number(
    "utilisation", "it is the share of the time in which replicas work", "70%", 1e-3, 1,
    units={"": "1", "%": "0.01"},
)  # fmt: skip
TRAINING = Number("length of a training", "it is a number of days", "30", 1e-3, 36_500)
TRAINED = Number(
    "number of tokens", "it counts tokens, with K, M, B or T behind it for thousands to millions of millions",
    "1T", 1, 10**18, units={"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12},
)  # fmt: skip
SHOWN = Number(
    "number of rows", "it counts rows of the table", "10", 1, 100_000, whole=True, units=COUNTED_IN
)

# Axes of kernels.
AXIS = Number(
    "number",
    "a number may have K, M, G or T behind it, for 2^10, 2^20, 2^30 and 2^40",
    "4096",
    -(2**100),
    2**100,
    units=POWERS_OF_TWO,
)
EXPONENT = Number("exponent", "an exponent is a whole number", "10", -(2**62), 2**62, whole=True)

# Collectives and links. The largest message over the slowest link ends within the model's clock, 2^63 ps.
MESSAGE = Number(
    "size", "a number with K, M or G behind it, which are powers of two", "64K", 0, 2**44, floored=True,
    units=POWERS_OF_TWO,
)  # fmt: skip
STEP_FACTOR = Number("factor", "it multiplies the size, by 1 or more", "2", 1, 2**50)
RANK = Number("rank", "ranks are counted from 0", "0", 0, 2**31 - 1, whole=True)
GROUP = Number("number of ranks", "it counts ranks", "8", 1, 2**31 - 1, whole=True, units=COUNTED_IN)
OVERSUBSCRIPTION = Number(
    "oversubscription", "it says how many times less the network carries than the adapters", "2", 1, 1000
)
LEFT_OF_LINK = Number("factor", "0 is a dead link, 1 a whole one, 0.5 half", "0.5", 0, 1000, smallest=0.001)
LEFT_OF_RANK = Number("share", "it is the share of its speed that a rank has left", "0.5", 0.001, 1)
LATE = Number("time", "a time has a unit: ns, us, ms or s", "50us", 0, 1000, units=OF_A_SECOND)
SHARE = Number("share", "it is a part of the whole, in any unit", "1", 0, 1e12)
ZIPF = Number("exponent", "0 is even", "1.2", 0, 100)
HOT = Number("share", "it is that of rank 0", "0.5", 0, 1)
INSTANCES = Number("size", "a size counts instances", "64", 1, 2**17, whole=True)
"""Beyond what any document describes; `System.topology` bounds what is drawn or listed of it."""

# What cost tables hold: cycles, seconds, bytes and rates.
COST = Number("cost", "no cost and no count is below zero", "64", 0, 1e18)

FOREIGN = Number("number", "as another program prints it", "1", -1e300, 1e300)

# What launchers and addresses say.
PORT = Number("port", "a port is a whole number", "29400", 1, 65_535, whole=True)
JOB = Number("number of a job", "it counts jobs", "1", 0, COUNTED, whole=True)
