"""Indices of Beta 1, nl.arange and nl.mgrid: affine sums of counters, and masks made of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache
from numbers import Number
from operator import itemgetter
from typing import Any

from trnbench.errors import KernelError
from trnbench.record import Record
from trnbench_emulator.nki import site
from trnbench_emulator.nki.dtype import Sizes
from trnbench_emulator.nki.view import filled_up

Box = tuple[tuple[int, int], ...]

_WHOLE = slice(None)


class Mask(Record, eq=False):
    """All of the conditions hold."""

    conditions: tuple[Grid, ...]

    @property
    def whole(self) -> bool:
        """Whether every element gets through."""
        return not self.conditions

    @property
    def is_equality(self) -> bool:
        """Are the conditions grid ≥ 0 and -grid ≥ 0, as `==` makes them?"""
        if len(self.conditions) != 2:
            return False
        total = self.conditions[0] + self.conditions[1]
        return not (total.const or any(total.coefficients))

    def __and__(self, other: Any) -> Any:
        if isinstance(other, Mask):
            return Mask((*self.conditions, *other.conditions))
        return self if other else False

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mask):
            return True if other else self
        if not self.conditions or not other.conditions:
            return Mask(())
        raise KernelError(
            f"a mask is one condition or another ({site.here()})",
            cause="what is left of the tile is no box; engines that skip elements are not modelled",
            try_="a call for each condition",
        )

    __ror__ = __or__

    def __getitem__(self, index: Any) -> Any:
        raise KernelError(
            f"a mask is indexed ({site.here()})",
            cause="a comparison of indices is no tile and has no dimensions to choose",
            try_="dimensions before the comparison: nl.arange(128)[:, None] < size",
        )

    @property
    def shape(self) -> Sizes:
        """Never: whoever asks for it takes the mask for a tile."""
        raise KernelError(
            f"a mask stands where a tile is needed ({site.here()})",
            cause="a comparison of indices is no tile",
            try_="nisa.affine_select(pred, tile, number), or mask= of the call",
        )


def box_of(mask: Any, shape: Sizes) -> Box | None:
    """The part of a tile of this shape that the mask lets through; None where it is nothing.

    Dimensions are matched from the last one, as NumPy does. Of a tile that is what is left of an operand they
    are matched from its partitions, and what has been summed up is of no concern. Raises `KernelError` for a
    mask that leaves no box, such as a triangle, and for one of another size.
    """
    sides = list(_whole_box(shape))
    if not isinstance(mask, Mask):
        return tuple(sides) if mask is None or mask else None
    for condition in mask.conditions:
        moving, fewer = condition.moving, len(shape) - len(condition.shape)
        if len(moving) > 1:
            raise KernelError(
                f"a mask joins {len(moving)} dimensions of a tile ({site.here()})",
                cause="what is left of the tile is no box; engines that skip elements are not modelled",
                try_="nisa.affine_select, or two masks of one dimension each",
            )
        for dim in moving:
            size, step = condition.shape[dim], condition.coefficients[dim]
            side = dim + max(0, fewer)  # as NumPy broadcasts
            if shape[side : side + 1] != (size,):
                if fewer < 0 or shape[side] == 1:
                    continue  # of an operand of which dimensions are summed up
                tile = "x".join(map(str, shape))
                raise KernelError(
                    f"a mask of {size} does not fit dimension {side} of a tile of {tile} ({site.here()})",
                    cause="dimensions are matched from the last one, as NumPy does",
                    try_="an index of the tile: nl.arange(128)[:, None] along its partitions",
                )
            first = -(condition.const // step) if step > 0 else 0
            end = size if step > 0 else condition.const // -step + 1
            low, high = sides[side]
            sides[side] = max(low, first), min(high, end)
    return None if any(low >= high for low, high in sides) else tuple(sides)


def turned(mask: Any) -> Any:
    """The mask of a tile for its transpose."""
    return Mask(tuple(condition.T for condition in mask.conditions)) if isinstance(mask, Mask) else mask


def mask_of(box: Box, shape: Sizes) -> Mask:
    """The mask that leaves this part of a tile of this shape."""
    rank = len(shape)
    one = [tuple(int(dim == at) for dim in range(rank)) for at in range(rank)]
    conditions = []
    for at, ((low, high), size) in enumerate(zip(box, shape, strict=True)):
        if (low, high) != (0, size):
            sizes = (*(1,) * at, size, *(1,) * (rank - at - 1))
            conditions.append(Grid(-low, one[at], sizes))
            conditions.append(Grid(high - 1, tuple(-each for each in one[at]), sizes))
    return Mask(tuple(conditions))


def of_partitions(mask: Any, rank: int) -> Any:
    """What a mask of an operand of this rank says of a result that has its partitions and other columns."""
    if not isinstance(mask, Mask):
        return mask
    return Mask(
        tuple(
            condition
            for condition in mask.conditions
            if all(dim + max(0, rank - len(condition.shape)) == 0 for dim in condition.moving)
        )
    )


def _whole_box(shape: Sizes) -> Box:
    return tuple((0, size) for size in shape)


def leaves_nothing(mask: Any, shape: Sizes) -> bool:
    """Does no element of a tile of this shape get through?"""
    return mask is not None and box_of(mask, shape) is None


class Grid(Record, eq=False):
    """const + Σ coefficients[d] · i_d, where i_d runs from 0 to shape[d] - 1 along dimension d of a tile.

    Broadcast as NumPy does: dimensions are matched from the last one.
    """

    const: int
    coefficients: tuple[int, ...]
    shape: Sizes

    @property
    def T(self) -> Grid:  # noqa: N802 - as arrays have it
        return Grid(self.const, self.coefficients[::-1], self.shape[::-1])

    @property
    def moving(self) -> list[int]:
        """The dimensions along which the value changes."""
        return [at for at, coefficient in enumerate(self.coefficients) if coefficient and self.shape[at] > 1]

    def bounds(self, box: Box | None = None) -> tuple[int, int]:
        """The smallest and the largest value, of all or where the counters are in a box."""
        low = high = self.const
        for coefficient, (start, end) in zip(self.coefficients, box or _whole_box(self.shape), strict=True):
            ends = coefficient * start, coefficient * (end - 1)
            low, high = low + min(ends), high + max(ends)
        return low, high

    def widened(self, rank: int) -> Grid:
        """The same values under more leading dimensions of size 1."""
        more = rank - len(self.shape)
        if more <= 0:
            return self
        return Grid(self.const, (0,) * more + self.coefficients, (1,) * more + self.shape)

    def __getitem__(self, index: Any) -> Grid:
        """New dimensions of size 1 by None; slices that take everything, or a part of a dimension."""
        if type(index) is tuple and len(index) == 2 and len(self.shape) == 1:  # as nearly all are
            first, second = index
            if second is None and first == _WHOLE:
                return Grid(self.const, (*self.coefficients, 0), (*self.shape, 1))
            if first is None and second == _WHOLE:
                return Grid(self.const, (0, *self.coefficients), (1, *self.shape))
        const, coefficients, sizes, axis = self.const, [], [], 0
        for entry in entries_of(index, len(self.shape)):
            if entry is None:
                coefficients.append(0)
                sizes.append(1)
                continue
            size, step = self.shape[axis], self.coefficients[axis]
            axis += 1
            if isinstance(entry, slice):
                indices = range(size)[entry]
                const += indices.start * step
                coefficients.append(step * indices.step)
                sizes.append(len(indices))
            else:
                const += range(size)[int(entry)] * step
        return Grid(const, tuple(coefficients), tuple(sizes))

    # Sums and multiples -------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Grid):
            left, right = self.widened(len(other.shape)), other.widened(len(self.shape))
            return Grid(
                left.const + right.const,
                tuple(a + b for a, b in zip(left.coefficients, right.coefficients, strict=True)),
                broadcast(left.shape, right.shape),
            )
        by = whole(other)
        return NotImplemented if by is None else Grid(self.const + by, self.coefficients, self.shape)

    __radd__ = __add__

    def __neg__(self) -> Grid:
        return Grid(-self.const, tuple(-coefficient for coefficient in self.coefficients), self.shape)

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        by = whole(other)
        if by is None:
            return NotImplemented
        return Grid(self.const * by, tuple(coefficient * by for coefficient in self.coefficients), self.shape)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Grid:
        return self._divided(other, "//", lambda value, by: value // by)

    def __mod__(self, other: Any) -> Grid:
        return self._divided(other, "%", lambda value, by: value % by)

    def _divided(self, other: Any, sign: str, apply: Callable[[int, int], int]) -> Grid:
        """Quotients and remainders where they are sums of multiples again; else a `KernelError`."""
        by = whole(other)
        moving = self.moving
        if by and not moving:
            return Grid(apply(self.const, by), (0,) * len(self.shape), self.shape)
        if by and len(moving) == 1:
            at = moving[0]
            values = [apply(self.const + self.coefficients[at] * n, by) for n in range(self.shape[at])]
            steps = {b - a for a, b in itertools.pairwise(values)}
            if len(steps) == 1:
                coefficients = [0] * len(self.shape)
                coefficients[at] = steps.pop()
                return Grid(values[0], tuple(coefficients), self.shape)
        raise KernelError(
            f"an index is not a sum of multiples after {sign} {other!r} ({site.here()})",
            cause="indices of NKI are affine: counters times constants",
            try_="split the tile's dimension instead: nl.arange(n)[:, None] and nl.arange(m)[None, :]",
        )

    # Masks --------------------------------------------------------------------------------------

    def _condition(self, other: Any, shift: int) -> Any:
        """self + shift ≥ other, as a mask or, without counters, as a truth value."""
        difference = self - other
        if not isinstance(difference, Grid):
            return NotImplemented
        difference = difference + shift
        low, high = difference.bounds()
        if low >= 0:
            return True if max(difference.shape, default=1) == 1 else Mask(())
        if high < 0:
            return False
        return Mask((difference,))

    def __ge__(self, other: Any) -> Any:
        return self._condition(other, 0)

    def __gt__(self, other: Any) -> Any:
        return self._condition(other, -1)

    def __le__(self, other: Any) -> Any:
        return (-self)._condition(-other, 0)

    def __lt__(self, other: Any) -> Any:
        return (-self)._condition(-other, -1)

    def __eq__(self, other: Any) -> Any:
        return (self >= other) & (self <= other) if isinstance(other, (Grid, Number)) else NotImplemented

    def __ne__(self, other: Any) -> Any:
        if not isinstance(other, (Grid, Number)):
            return NotImplemented
        below, above = self < other, self > other
        if isinstance(below, Mask) and isinstance(above, Mask):
            raise KernelError(
                f"`!=` leaves out the middle of a tile ({site.here()})",
                cause="what is left of the tile is no box; engines that skip elements are not modelled",
                try_="a call with `<` and one with `>`",
            )
        return below | above

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        terms = [f"{c}·i{d}" for d, c in enumerate(self.coefficients) if c]
        return f"index {' + '.join([str(self.const), *terms])} of sizes {list(self.shape)}"


@lru_cache
def arange(*given: Any) -> Grid:
    """Counters from start to stop by step, along one dimension."""
    start, stop, step = (0, *given, 1) if len(given) == 1 else (*given, 1)[:3]
    return Grid(int(start), (int(step),), (len(range(int(start), int(stop), int(step))),))


class MGrid:
    """nl.mgrid[0:128, 0:512]: one index per dimension; `.p` is the first, `.x`, `.y`, `.z` follow."""

    def __getitem__(self, index: Any) -> Grids:
        parts = index if isinstance(index, tuple) else (index,)
        grids = []
        for at, bounds in enumerate(parts):
            counters = arange(bounds.start or 0, bounds.stop, bounds.step or 1)
            key = tuple(slice(None) if n == at else None for n in range(len(parts)))
            grids.append(counters[key])
        return Grids(grids)


class Grids(tuple[Grid, ...]):
    """What nl.mgrid gives: unpacked, or by name."""

    __slots__ = ()

    p, x = property(itemgetter(0)), property(itemgetter(1))
    y, z = property(itemgetter(2)), property(itemgetter(3))


def entries_of(index: Any, rank: int) -> list[Any]:
    """Of an index, an entry for each of `rank` dimensions, and None for each new one."""
    entries = index if isinstance(index, tuple) else (index,)
    return filled_up(entries, rank + sum(entry is None for entry in entries))


def broadcast(left: Sizes, right: Sizes) -> Sizes:
    """The common shape of two; raises `KernelError` where there is none."""
    rank = max(len(left), len(right))
    left, right = (1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right
    if any(a != b and 1 not in (a, b) for a, b in zip(left, right, strict=True)):
        raise KernelError(f"{list(left)} and {list(right)} have no common shape ({site.here()})")
    return tuple(max(a, b) for a, b in zip(left, right, strict=True))


def whole(value: Any) -> int | None:
    """A whole number of Python's or NumPy's, else None."""
    try:
        return int(value.__index__())
    except (AttributeError, TypeError):
        return None
