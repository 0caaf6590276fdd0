"""Masks: conditions on indices, and the box of a tile that they leave."""

from __future__ import annotations

from typing import Any, Protocol

from trnbench.errors import KernelError
from trnbench_emulator.nki import site

Box = tuple[tuple[int, int], ...]


class Condition(Protocol):
    """An index, const + Σ coefficients[d] · i_d with i_d below sizes[d], that must not be below 0."""

    const: int
    coefficients: tuple[int, ...]
    sizes: tuple[int, ...]

    def widened(self, rank: int) -> Condition: ...


class Mask:
    """All of the conditions hold."""

    __slots__ = ("conditions",)

    def __init__(self, conditions: tuple[Condition, ...]) -> None:
        self.conditions = conditions

    def __and__(self, other: Any) -> Any:
        if isinstance(other, Mask):
            return Mask((*self.conditions, *other.conditions))
        return self if other else False

    __rand__ = __and__

    def box(self) -> dict[tuple[int, int, int], tuple[int, int]]:
        """(dimension from the end, its size, rank) → the part of it that is inside.

        Raises `KernelError` for a mask that leaves no box, such as a triangle.
        """
        bounds: dict[tuple[int, int, int], tuple[int, int]] = {}
        for condition in self.conditions:
            used = [at for at, c in enumerate(condition.coefficients) if c and condition.sizes[at] > 1]
            if len(used) > 1:
                raise KernelError(
                    f"a mask joins {len(used)} dimensions of a tile ({site.here()})",
                    cause="what is left of the tile is no box; engines that skip elements are not modelled",
                    try_="nisa.affine_select, or two masks of one dimension each",
                )
            if not used:
                continue
            at, size = used[0], condition.sizes[used[0]]
            step = condition.coefficients[at]
            inside = [n for n in range(size) if condition.const + step * n >= 0]
            key = (at, size, len(condition.sizes))
            low, high = bounds.get(key, (0, size))
            bounds[key] = (max(low, inside[0]), min(high, inside[-1] + 1))
        return bounds


def box_of(mask: Any, shape: tuple[int, ...]) -> Box | None:
    """The part of a tile of this shape that the mask lets through; None where it is nothing.

    A condition concerns a dimension of its own size at its own place.
    """
    whole_box = tuple((0, size) for size in shape)
    if mask is None or mask is True or (isinstance(mask, Mask) and not mask.conditions):
        return whole_box
    if not isinstance(mask, Mask):
        return whole_box if mask else None
    sides = list(whole_box)
    for (at, size, _), (low, high) in mask.box().items():
        if at < len(sides) and sides[at][1] == size:
            sides[at] = (low, high)
    return None if any(low >= high for low, high in sides) else tuple(sides)
