"""One problem as the shares of cores: who has how much of it, and when it does not divide."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from trnbench.case_key import Value
from trnbench.record import Record


class Shard(Record, kw_only=True):
    """`cores` cores have a share of this shape: a point that the kernel's sources and formulas take."""

    point: Mapping[str, Value]
    cores: int


class Split(Record, kw_only=True):
    """`shards`: the largest first, than which no other takes longer; their arithmetic is the problem's.

    `how`: what is divided, for people. `refusal`: why the problem does not divide; then there are no shards.
    """

    shards: tuple[Shard, ...] = ()
    how: str = ""
    refusal: str = ""


def shares(size: int, parts: int, unit: int = 1) -> tuple[tuple[int, int], ...]:
    """(length, how many have it), the longest first: neighbours along an axis of `size`.

    Whole units are dealt where there is one for each part, else single elements; the last part may end in a
    unit that is not whole. `size` is at least `parts`.
    """
    unit = unit if size >= unit * parts else 1
    units = -(-size // unit)
    each, more = divmod(units, parts)
    lacking = units * unit - size
    last = (each + bool(more)) * unit - lacking
    lengths = Counter({(each + 1) * unit: max(more - 1, 0), each * unit: parts - max(more, 1)})
    lengths[last] += 1
    return tuple(sorted(((length, times) for length, times in lengths.items() if times), reverse=True))


def largest(size: int, parts: int, unit: int = 1) -> int:
    """The longest of `shares`."""
    return shares(size, parts, unit)[0][0]


def grid(cores: int, cost: Callable[[int, int], tuple[float, ...] | None]) -> tuple[int, int] | None:
    """Rows and columns of cores, of which there are `cores`, that cost least; None where nothing divides.

    `cost(rows, columns)` is None where an axis is too short.
    """
    costs = {pair: cost_ for pair in _factors(cores) if (cost_ := cost(*pair)) is not None}
    return min(costs, key=lambda pair: costs[pair]) if costs else None


def _factors(count: int) -> Iterator[tuple[int, int]]:
    for low in range(1, math.isqrt(count) + 1):
        if count % low == 0:
            yield low, count // low
            yield count // low, low


def along(name: str, point: Mapping[str, Value], cores: int, unit: int, called: str) -> Split:
    """The axis `name` of `point` divided, `unit` at a time where that goes; `called`: `4,096 rows`."""
    size = int(point[name])
    if size < cores:
        return Split(refusal=too_few(called, cores))
    return Split(
        shards=tuple(
            Shard(point={**point, name: length}, cores=times) for length, times in shares(size, cores, unit)
        ),
        how=f"{called} over {cores:,} cores",
    )


def too_few(what: str, cores: int) -> str:
    """Why a problem does not divide."""
    return f"{what} do not divide over {cores:,} cores"
