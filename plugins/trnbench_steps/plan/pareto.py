"""The options of a plan in time and cost, and which of them none beats in both: what a chart shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from trnbench.facts.units import percent, show

if TYPE_CHECKING:
    from trnbench_steps.plan.goal import Goal
    from trnbench_steps.plan.option import Option


class ParetoOption(msgspec.Struct, frozen=True, kw_only=True):
    """`time_s` of a token or a step, `low_s` to `high_s` its band (0: none); `cost` in the chart's unit;
    `best`: no option is both faster and cheaper."""

    name: str
    time_s: float
    cost: float
    low_s: float = 0.0
    high_s: float = 0.0
    best: bool = False


class Pareto(msgspec.Struct, frozen=True, kw_only=True):
    """`of`: the model and its task. `time` and `cost` say what the axes are; `unit` of the cost is "s" or
    "dollars". `finding` is the sentence that goes with them. `options` in the order of the plan."""

    of: str
    time: str
    cost: str
    unit: str
    finding: str
    options: tuple[ParetoOption, ...]


def priced(options: Sequence[Option]) -> bool:
    """Whether all of them can be told apart by dollars."""
    return bool(options) and all(option.dollars is not None for option in options)


def cost_of(option: Option, in_dollars: bool) -> float:
    """What lies across from time: dollars where every option has a price, else device seconds of a token."""
    return option.dollars if in_dollars and option.dollars is not None else 1.0 / option.tokens_per_s_device


def front(options: Sequence[Option]) -> list[Option]:
    """Pareto-optimal ones, fastest first: each slower one costs less."""
    in_dollars = priced(options)
    best: list[Option] = []
    for option in sorted(options, key=lambda each: (each.token.time_s, cost_of(each, in_dollars))):
        if not best or cost_of(option, in_dollars) < cost_of(best[-1], in_dollars):
            best.append(option)
    return best


def pareto(goal: Goal, ranked: Sequence[Option]) -> Pareto:
    """Of the ranked options of a plan, at least one."""
    in_dollars = priced(ranked)
    dollars = "dollars of the training" if goal.training else "dollars of a million tokens"
    cost = dollars if in_dollars else "device seconds of a token"
    best = front(ranked)
    kept = {id(each) for each in best}
    return Pareto(
        of=f"{goal.model.name}, {goal.task}",
        time="time of a step" if goal.training else "time of a token",
        cost=cost,
        unit="dollars" if in_dollars else "s",
        finding=_finding(ranked, best, in_dollars, cost),
        options=tuple(
            ParetoOption(
                name=label(each),
                time_s=each.token.time_s,
                cost=cost_of(each, in_dollars),
                low_s=each.token.low_s,
                high_s=each.token.high_s,
                best=id(each) in kept,
            )
            for each in ranked
        ),
    )


def label(option: Option) -> str:
    """ "trn1.32xlarge (tp 32, batch 4)": an option in a sentence."""
    return f"{option.system} ({option.layout_words}, batch {option.batch})"


def _finding(ranked: Sequence[Option], best: Sequence[Option], in_dollars: bool, cost: str) -> str:
    fast, cheap = best[0], best[-1]
    if len(ranked) == 1:
        return f"The only option is {label(fast)}: {show(fast.token.time_s, 's')}"
    if fast is cheap:
        return f"{label(fast)} is both the fastest and the cheapest of {len(ranked):,} options"
    saved = 1 - cost_of(cheap, in_dollars) / cost_of(fast, in_dollars)
    longer = cheap.token.time_s / fast.token.time_s
    return (
        f"{len(best):,} of {len(ranked):,} options are beaten by none: {label(cheap)} takes "
        f"{longer:.3g} times as long as {label(fast)} for {percent(saved)} fewer {cost}"
    )
