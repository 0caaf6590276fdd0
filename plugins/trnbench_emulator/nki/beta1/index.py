"""nl.arange and nl.mgrid: indices that are sums of multiples of a tile's own counters."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.mask import Mask


class Grid:
    """const + Σ coefficients[d] · i_d, where i_d runs from 0 to sizes[d] - 1 along dimension d of a tile.

    Broadcast as NumPy does: dimensions are matched from the last one.
    """

    __slots__ = ("coefficients", "const", "sizes")

    def __init__(self, const: int, coefficients: tuple[int, ...], sizes: tuple[int, ...]) -> None:
        self.const = const
        self.coefficients = coefficients
        self.sizes = sizes

    @property
    def shape(self) -> tuple[int, ...]:
        return self.sizes

    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest value."""
        low = high = self.const
        for coefficient, size in zip(self.coefficients, self.sizes, strict=True):
            reach = coefficient * (size - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high

    def widened(self, rank: int) -> Grid:
        """The same values under more leading dimensions of size 1."""
        more = rank - len(self.sizes)
        if more <= 0:
            return self
        return Grid(self.const, (0,) * more + self.coefficients, (1,) * more + self.sizes)

    def __getitem__(self, index: Any) -> Grid:
        """New dimensions of size 1 by None; slices that take everything, or a part of a dimension."""
        index = index if isinstance(index, tuple) else (index,)
        const, coefficients, sizes, axis = self.const, [], [], 0
        if any(each is Ellipsis for each in index):
            where = next(n for n, each in enumerate(index) if each is Ellipsis)
            given = sum(each is not None and each is not Ellipsis for each in index)
            index = (*index[:where], *[slice(None)] * (len(self.sizes) - given), *index[where + 1 :])
        for entry in index:
            if entry is None:
                coefficients.append(0)
                sizes.append(1)
                continue
            size, step = self.sizes[axis], self.coefficients[axis]
            axis += 1
            if isinstance(entry, slice):
                part = range(size)[entry]
                const += part.start * step
                coefficients.append(step * part.step)
                sizes.append(len(part))
            else:
                const += range(size)[int(entry)] * step
        coefficients += self.coefficients[axis:]
        sizes += self.sizes[axis:]
        return Grid(const, tuple(coefficients), tuple(sizes))

    # Sums and multiples -------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Grid):
            left, right = self.widened(len(other.sizes)), other.widened(len(self.sizes))
            return Grid(
                left.const + right.const,
                tuple(a + b for a, b in zip(left.coefficients, right.coefficients, strict=True)),
                broadcast(left.sizes, right.sizes),
            )
        by = whole(other)
        return NotImplemented if by is None else Grid(self.const + by, self.coefficients, self.sizes)

    __radd__ = __add__

    def __neg__(self) -> Grid:
        return Grid(-self.const, tuple(-each for each in self.coefficients), self.sizes)

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        by = whole(other)
        if by is None:
            return NotImplemented
        return Grid(self.const * by, tuple(each * by for each in self.coefficients), self.sizes)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Grid:
        return self._divided(other, "//", lambda value, by: value // by)

    def __mod__(self, other: Any) -> Grid:
        return self._divided(other, "%", lambda value, by: value % by)

    def _divided(self, other: Any, sign: str, apply: Callable[[int, int], int]) -> Grid:
        """Quotients and remainders where they are sums of multiples again; else a `KernelError`."""
        by = whole(other)
        used = [at for at, each in enumerate(self.coefficients) if each and self.sizes[at] > 1]
        if by and not used:
            return Grid(apply(self.const, by), (0,) * len(self.sizes), self.sizes)
        if by and len(used) == 1:
            at = used[0]
            values = [apply(self.const + self.coefficients[at] * n, by) for n in range(self.sizes[at])]
            steps = {b - a for a, b in itertools.pairwise(values)}
            if len(steps) == 1:
                made = [0] * len(self.sizes)
                made[at] = steps.pop()
                return Grid(values[0], tuple(made), self.sizes)
        raise KernelError(
            f"an index is not a sum of multiples after {sign} {other!r} ({site.here()})",
            cause="indices of NKI are affine: counters times constants",
            try_="split the tile's dimension instead: nl.arange(n)[:, None] and nl.arange(m)[None, :]",
        )

    # Masks --------------------------------------------------------------------------------------

    def _condition(self, other: Any, shift: int) -> Any:
        """self + shift ≥ other, as a mask or, without counters, as a truth value."""
        left = self - other
        if not isinstance(left, Grid):
            return NotImplemented
        left = left + shift
        low, high = left.bounds()
        if low >= 0:
            return True if max(left.sizes, default=1) == 1 else Mask(())
        if high < 0:
            return False
        return Mask((left,))

    def __ge__(self, other: Any) -> Any:
        return self._condition(other, 0)

    def __gt__(self, other: Any) -> Any:
        return self._condition(other, -1)

    def __le__(self, other: Any) -> Any:
        return (-self)._condition(-other, 0)

    def __lt__(self, other: Any) -> Any:
        return (-self)._condition(-other, -1)

    def __repr__(self) -> str:
        terms = [f"{c}·i{d}" for d, c in enumerate(self.coefficients) if c]
        return f"index {' + '.join([str(self.const), *terms])} of sizes {list(self.sizes)}"


def arange(*given: Any) -> Grid:
    """Counters from start to stop by step, along one dimension."""
    start, stop, step = (0, *given, 1) if len(given) == 1 else (*given, 1)[:3]
    return Grid(int(start), (int(step),), (len(range(int(start), int(stop), int(step))),))


class MGrid:
    """nl.mgrid[0:128, 0:512]: one index per dimension; `.p` is the first, `.x`, `.y`, `.z` follow."""

    def __getitem__(self, index: Any) -> Grids:
        parts = index if isinstance(index, tuple) else (index,)
        made = []
        for at, part in enumerate(parts):
            one = arange(part.start or 0, part.stop, part.step or 1)
            key = tuple(slice(None) if n == at else None for n in range(len(parts)))
            made.append(one[key])
        return Grids(made)


class Grids(tuple[Grid, ...]):
    """What nl.mgrid gives: unpacked, or by name."""

    __slots__ = ()

    @property
    def p(self) -> Grid:
        return self[0]

    @property
    def x(self) -> Grid:
        return self[1]

    @property
    def y(self) -> Grid:
        return self[2]

    @property
    def z(self) -> Grid:
        return self[3]


def broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
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
