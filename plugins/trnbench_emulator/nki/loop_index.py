"""A loop's number while its loop is watched: an integer that knows what was made of it.

Every value computed from it stays a linear function of the loops' numbers, or the loops it came from are
not folded. Comparisons are answered, and the loop remembers for how many more rounds the answer stays.
"""

from __future__ import annotations

import operator
from math import gcd, lcm
from typing import Any

FOREVER = 1 << 60


class Watched:
    """A loop. `rounds_left`: how many may follow the present one before a comparison comes out differently.

    None may where a number of it was used in this round in a way that is not followed. `period`: rounds
    after which what was taken modulo something repeats.
    """

    __slots__ = ("between", "open", "period", "rounds_left")

    def __init__(self) -> None:
        self.open = True
        self.period = 1
        self.rounds_left = FOREVER
        self.between: list[Index] = []  # values that must not become negative, of several loops

    def begin_round(self) -> None:
        self.rounds_left = FOREVER
        self.between = []


Slopes = dict[Watched, int]


class Index:
    """`value` now, and by how much it grows with each round of each loop."""

    __slots__ = ("slopes", "value")

    def __init__(self, value: int, slopes: Slopes) -> None:
        self.value = value
        self.slopes = slopes

    # What stays linear --------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return _sum(self, other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _sum(self, other, -1)

    def __rsub__(self, other: Any) -> Any:
        return _sum(-self, other, 1)

    def __neg__(self) -> Index:
        return Index(-self.value, {loop: -slope for loop, slope in self.slopes.items()})

    def __pos__(self) -> Index:
        return self

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Index):
            return pinned(self) * pinned(other)
        factor = _whole(other)
        if factor is None:
            return pinned(self) * other
        return _index(self.value * factor, {loop: slope * factor for loop, slope in self.slopes.items()})

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        divisor = _whole(other)
        if isinstance(other, Index) or divisor is None or divisor <= 0:
            return pinned(self) // other
        if any(slope % divisor for slope in self.slopes.values()):
            return pinned(self) // divisor
        return _index(self.value // divisor, {loop: slope // divisor for loop, slope in self.slopes.items()})

    def __mod__(self, other: Any) -> Any:
        """The remainder repeats after a few rounds."""
        divisor = _whole(other)
        if isinstance(other, Index) or divisor is None or divisor <= 0:
            return pinned(self) % other
        for loop, slope in self.slopes.items():
            loop.period = lcm(loop.period, divisor // gcd(slope, divisor))
        return self.value % divisor

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    # Comparisons --------------------------------------------------------------------------------

    def __lt__(self, other: Any) -> Any:
        return _at_most(self - other, -1) if _compares(other) else NotImplemented

    def __le__(self, other: Any) -> Any:
        return _at_most(self - other, 0) if _compares(other) else NotImplemented

    def __gt__(self, other: Any) -> Any:
        return not _at_most(self - other, 0) if _compares(other) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return not _at_most(self - other, -1) if _compares(other) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not _compares(other):
            return bool(pinned(self) == other)
        apart = self - other
        if not isinstance(apart, Index):
            return bool(apart == 0)
        if apart.value == 0:
            pinned(apart)
            return True
        return not (_at_most(apart, -1) or not _at_most(apart, 0))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return bool(self != 0)

    # What is not followed -----------------------------------------------------------------------

    def __index__(self) -> int:
        return int(pinned(self))

    __int__ = __index__

    def __float__(self) -> float:
        return float(pinned(self))

    def __hash__(self) -> int:
        return hash(pinned(self))

    def __repr__(self) -> str:
        return repr(pinned(self))

    def __format__(self, spec: str) -> str:
        return format(pinned(self), spec)

    def __getattr__(self, name: str) -> Any:
        return getattr(pinned(self), name)


def _by_value(name: str) -> Any:
    act = getattr(operator, name)

    def direct(self: Index, other: Any) -> Any:
        return act(pinned(self), pinned(other))

    def reflected(self: Index, other: Any) -> Any:
        return act(pinned(other), pinned(self))

    return direct, reflected


for _name in ("truediv", "pow", "lshift", "rshift", "and", "or", "xor"):
    _direct, _reflected = _by_value({"and": "and_", "or": "or_"}.get(_name, _name))
    setattr(Index, f"__{_name}__", _direct)
    setattr(Index, f"__r{_name}__", _reflected)
for _name in ("floordiv", "mod"):
    setattr(Index, f"__r{_name}__", _by_value(_name)[1])


def pinned(value: Any) -> Any:
    """The number itself; in the next round of the loops it comes from it is another one."""
    if not isinstance(value, Index):
        return value
    for loop in value.slopes:
        loop.rounds_left = 0
    return value.value


def settled(value: Any) -> Any:
    """The number itself, for a use in which it moves along with its loops: an address."""
    return value.value if isinstance(value, Index) else value


def not_negative(value: Index) -> None:
    """`value` is not negative now; note for how long."""
    loops = value.slopes
    for loop, slope in loops.items():
        if slope < 0:
            loop.rounds_left = min(loop.rounds_left, value.value // -slope)
        if len(loops) > 1:
            loop.between.append(value)


def skipped(loop: Watched, value: Index, rounds: int) -> None:
    """What held in the last round that `loop` left out has to hold for the other loops, too."""
    slope = value.slopes[loop]
    slopes = {outer: by for outer, by in value.slopes.items() if outer is not loop}
    not_negative(Index(value.value + rounds * slope, slopes))


def _at_most(value: Any, most: int) -> bool:
    if not isinstance(value, Index):
        return bool(value <= most)
    if value.value <= most:
        not_negative(Index(most - value.value, {loop: -slope for loop, slope in value.slopes.items()}))
        return True
    not_negative(Index(value.value - most - 1, value.slopes))
    return False


def _sum(one: Index, other: Any, sign: int) -> Any:
    if isinstance(other, Index):
        slopes = dict(one.slopes)
        for loop, slope in other.slopes.items():
            slopes[loop] = slopes.get(loop, 0) + sign * slope
        return _index(one.value + sign * other.value, slopes)
    more = _whole(other)
    if more is None:
        return pinned(one) + (other if sign > 0 else -other)
    return Index(one.value + sign * more, one.slopes)


def _index(value: int, slopes: Slopes) -> Any:
    """A plain integer where no loop moves it."""
    moving = {loop: slope for loop, slope in slopes.items() if slope}
    return Index(value, moving) if moving else value


def _whole(value: Any) -> int | None:
    if type(value) is int:
        return value
    if isinstance(value, (float, complex, str, bytes, list, tuple)) or not hasattr(value, "__index__"):
        return None
    return operator.index(value)


def _compares(value: Any) -> bool:
    return isinstance(value, Index) or _whole(value) is not None
