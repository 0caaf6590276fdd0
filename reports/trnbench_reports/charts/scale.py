"""An axis: where a value stands on it, and where its ticks are and what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from trnbench_reports import numbers


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Values from `low` to `high`; `ticks` are (value, label). `rows`: each tick is a thing, not a value."""

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    logarithmic: bool = False
    rows: bool = False

    def share(self, value: float) -> float:
        """0 at `low`, 1 at `high`; beyond them below 0 and above 1."""
        if self.logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def logarithmic(
    title: str, low: float, high: float, unit: str = "", *, base: int = 10, most: int = 8
) -> Scale:
    """A tick for each decade, or for each few powers of `base`: at most about `most`.

    `low` and `high` are positive and differ.
    """
    first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / most))
    values = [float(base) ** power for power in range(first, last + 1, step)]
    if base == 10 and len(values) < 3:
        finer = (times * 10.0**power for power in range(first - 1, last + 1) for times in (1, 2, 5))
        values = [value for value in finer if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    return Scale(
        title=title,
        low=low,
        high=high,
        ticks=tuple((value, numbers.show(value, unit).replace(numbers.NBSP, " ")) for value in values),
        logarithmic=True,
    )


def linear(title: str, low: float, high: float, ticks: Sequence[tuple[float, str]]) -> Scale:
    """Even steps; the ticks as given."""
    return Scale(title=title, low=low, high=high, ticks=tuple(ticks))


def even(title: str, high: float, *, most: int = 5) -> Scale:
    """From nothing to `high` in steps of 1, 2 or 5 times a power of ten."""
    rough = high / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= rough * (1 - 1e-9))
    count = math.floor(high / step + 1e-9)
    places = max(0, -math.floor(math.log10(step)))
    ticks = [(i * step, f"{i * step:,.{places}f}") for i in range(count + 1)]
    return linear(title, 0.0, high, ticks)


def names(found: Sequence[str]) -> Scale:
    """A row for each name, from top to bottom; row i has its middle at i + 0.5."""
    ticks = tuple((i + 0.5, name) for i, name in enumerate(found))
    return Scale(title="", low=len(found), high=0, ticks=ticks, rows=True)
