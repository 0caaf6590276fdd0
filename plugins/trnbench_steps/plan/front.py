"""The options that none beats in both time and throughput (or dollars), and a chart of them in characters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from trnbench_steps.plan.option import Option

WIDTH, HEIGHT = 60, 14


def priced(options: Sequence[Option]) -> bool:
    """Whether all of them can be told apart by dollars."""
    return bool(options) and all(each.dollars is not None for each in options)


def cost_of(option: Option, in_dollars: bool) -> float:
    """What lies across from time: dollars where every option has a price, else device seconds of a token."""
    return option.dollars if in_dollars and option.dollars is not None else 1.0 / option.tokens_per_s_device


def front(options: Sequence[Option]) -> list[Option]:
    """Pareto-optimal ones, fastest first: each slower one costs less."""
    in_dollars = priced(options)
    best: list[Option] = []
    for option in sorted(options, key=lambda each: (each.time_s, cost_of(each, in_dollars))):
        if not best or cost_of(option, in_dollars) < cost_of(best[-1], in_dollars):
            best.append(option)
    return best


def chart(options: Sequence[Option], shown: Callable[[float], str], across: str, down: str) -> list[str]:
    """Time to the right and cost upwards, both by factors: `●` on the front, `·` beside it.

    `shown` writes a cost; `across` and `down` are the words of the axes.
    """
    if len(options) < 2:
        return []
    best = {id(each) for each in front(options)}
    times = [math.log(each.time_s) for each in options]
    in_dollars = priced(options)
    costs = [math.log(cost_of(each, in_dollars)) for each in options]
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    for option, x, y in sorted(zip(options, times, costs, strict=True), key=lambda each: id(each[0]) in best):
        column = _place(x, times, WIDTH)
        row = HEIGHT - 1 - _place(y, costs, HEIGHT)
        grid[row][column] = "●" if id(option) in best else "·"
    high, low = shown(math.exp(max(costs))), shown(math.exp(min(costs)))
    margin = max(len(high), len(low))
    lines = [down]
    for number, cells in enumerate(grid):
        label = high if number == 0 else low if number == HEIGHT - 1 else ""
        lines.append(f"{label:>{margin}} │{''.join(cells).rstrip()}")
    lines.append(f"{'':>{margin}} └{'─' * WIDTH}")
    lines.append(f"{'':>{margin}}  {across}")
    return lines


def _place(value: float, every: Sequence[float], cells: int) -> int:
    low, high = min(every), max(every)
    return round((value - low) / (high - low) * (cells - 1)) if high > low else 0
