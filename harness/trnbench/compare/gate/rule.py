"""Rules: which cases each speaks of, what is not good enough, and how a file of them is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from trnbench.bounded import kinds
from trnbench.bounded.toml import read_toml
from trnbench.case_key import CaseKey, joint
from trnbench.errors import BadInput, cut, quoted


class Direction(str, Enum):
    """Which way a value has to go to break a rule."""

    WORSE = "worse"
    BETTER = "better"  # a number that improves by itself is wrong as often as not
    EITHER = "either"
    NONE = "none"  # the value may go where it will; failures, shares of peaks and ages still count

    def __str__(self) -> str:
        return self.value


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """`kernel`, `system` and `case` are names or globs, all of which have to fit.

    `metric` is "time_s" or one of a measurement's metrics. `tolerance` is a share, 0.02 for 2 %; None stands
    for 3 % of measured and nothing of emulated values. `least_of_peak` is the share of its peak that a case
    has to reach, `oldest_days` how old what it is held against may be.
    """

    name: str
    kernel: str = "*"
    system: str = "*"
    case: str = "*"
    metric: str = "time_s"
    direction: Direction = Direction.WORSE
    tolerance: float | None = None
    least_of_peak: float | None = None
    oldest_days: float | None = None

    def fits(self, case: CaseKey) -> bool:
        """Whether the rule speaks of this case."""
        return (
            fnmatchcase(case.kernel, self.kernel)
            and fnmatchcase(case.instance, self.system)
            and any(_fits_name(name, self.case) for name in {case.fullname, joint(case.fullname)})
        )


def _fits_name(name: str, pattern: str) -> bool:
    """Case names have brackets in them, which a glob would read as a set of characters."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))


USUAL = Rule(name="usual")
"""What holds of cases that no other rule speaks of: nothing slower, and no emulated time that rose."""


Read = Callable[[Any, str], Any]


def read_rules(path: Path) -> tuple[Rule, ...]:
    """The rules of a file. Raises `MissingFile`, and `BadInput` that names the file and the key."""
    document = read_toml(path)
    for key in document:
        if key != "rule":
            raise BadInput(
                f"{path}: unknown key {quoted(key)}",
                cause="a gate file has rules and nothing else: [[rule]]",
                try_="[[rule]]",
            )
    listed = document.get("rule", [])
    if not isinstance(listed, list) or not listed or not all(isinstance(each, dict) for each in listed):
        raise BadInput(
            f"{path}: it has no rules", cause="each begins with [[rule]], in two brackets", try_="[[rule]]"
        )
    return tuple(_rule(each, number, str(path)) for number, each in enumerate(listed, start=1))


def _rule(table: Mapping[str, Any], number: int, path: str) -> Rule:
    fields: dict[str, Any] = {"name": f"rule {number}"}
    for key, value in table.items():
        place = f"{path}: rule[{number}].{key}"
        known = _KEYS.get(key)
        if known is None:
            raise BadInput(
                f"{place}: no rule has such a key", cause=f"known: {', '.join(_KEYS)}", try_=_near(key)
            )
        field, read = known
        fields[field] = read(value, place)
    return Rule(**fields)


def _near(key: str) -> str:
    from difflib import get_close_matches

    return next(iter(get_close_matches(key, _KEYS, n=1)), "docs/comparing.md has an example")


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise BadInput(f"{place} is {_said(value)}", cause="it is a text that is not empty", try_='"gemm*"')
    return value


def _direction(value: Any, place: str) -> Direction:
    try:
        return Direction(value)
    except ValueError:
        raise BadInput(
            f"{place} is {_said(value)}", cause=f"it is one of {', '.join(Direction)}", try_='"worse"'
        ) from None


def _share(value: Any, place: str) -> float:
    found = kinds.PERCENT.parsed(value) if isinstance(value, str) else None
    if found is None:
        raise BadInput(f"{place} is {_said(value)}", cause="it is a percentage in quotes", try_='"2%"')
    return float(found) / 100.0


def _days(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not kinds.DAYS.fits(value):
        raise BadInput(
            f"{place} is {_said(value)}", cause=f"{kinds.DAYS.about}, {kinds.DAYS.range}", try_="30"
        )
    return float(value)


def _said(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else cut(str(value))


_KEYS: dict[str, tuple[str, Read]] = {
    "name": ("name", _text),
    "kernel": ("kernel", _text),
    "system": ("system", _text),
    "case": ("case", _text),
    "metric": ("metric", _text),
    "direction": ("direction", _direction),
    "tolerance": ("tolerance", _share),
    "minimum_of_peak": ("least_of_peak", _share),
    "maximum_age_days": ("oldest_days", _days),
}
"""Keys of a rule: the field, and how its value is read."""
