"""Which measurement would change what a plan puts first, of its own generation and of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from trnbench.facts.units import show
from trnbench_steps.plan.goal import By, Expected, Goal
from trnbench_steps.plan.option import Option, command
from trnbench_steps.plan.pareto import label

if TYPE_CHECKING:
    from trnbench.registry import Registry


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """A step of `measured` that is found to take longer (`above`) or less than `beyond_s` puts `then` first.

    Now it is modelled as `expected`; `command` shows it. `limit`: it is a limit that this breaks or keeps.
    """

    measured: str
    command: str
    expected: Expected
    beyond_s: float
    above: bool
    then: str
    limit: bool = False

    @property
    def sentence(self) -> str:
        band = "no band"
        if self.expected.banded:
            band = f"expected {show(self.expected.low_s, 's')} to {show(self.expected.high_s, 's')}"
        side = "above" if self.above else "below"
        why = ", which breaks a limit," if self.limit and self.above else ""
        return (
            f"A measured step of {self.measured} {side} {show(self.beyond_s, 's')} ({band}){why} puts "
            f"{self.then if self.above else 'it'} first."
        )


def flips(registry: Registry, goal: Goal, options: Sequence[Option]) -> list[Flip]:
    """Of the first of `options` against the next on another system or degree, and of the best of each other
    generation against the first; only what a band does not rule out."""
    if not options:
        return []
    first = options[0]
    turns: list[Flip] = []
    rival = next((option for option in options if not _alike(option, first)), None)
    if rival is not None:
        slower = [(_cost(rival, goal.by) / _cost(first, goal.by), False)]
        slower += [(share, True) for share in _room(goal, first)]
        factor, limit = min((each for each in slower if each[0] >= 1), default=(0.0, False))
        if factor and (not first.banded or factor * first.step.time_s <= first.step.high_s):
            turns.append(_flip(goal, first, factor, label(rival), above=True, limit=limit))
    for other in _elsewhere(registry, options):
        ways = [_cost(first, goal.by) / _cost(other, goal.by), *_room(goal, other)]
        factor = min(ways)
        if not other.banded or factor * other.step.time_s >= other.step.low_s:
            turns.append(_flip(goal, other, factor, label(other), above=False))
    return turns


def _flip(goal: Goal, option: Option, factor: float, then: str, *, above: bool, limit: bool = False) -> Flip:
    return Flip(
        measured=label(option),
        command=command(goal.named or goal.model.name, option),
        expected=option.step,
        beyond_s=factor * option.step.time_s,
        above=above,
        then=then,
        limit=limit,
    )


def _alike(one: Option, other: Option) -> bool:
    return (one.system, one.layout.tp, one.layout.pp) == (other.system, other.layout.tp, other.layout.pp)


def _elsewhere(registry: Registry, options: Sequence[Option]) -> Iterator[Option]:
    """The best option of each generation but the first's."""
    seen = {_generation(registry, options[0])}
    for option in options[1:]:
        if (name := _generation(registry, option)) not in seen:
            seen.add(name)
            yield option


def _generation(registry: Registry, option: Option) -> str:
    return registry.instance(option.system)[0].name


def _room(goal: Goal, option: Option) -> Iterator[float]:
    """By which factor its times may grow until a limit is broken."""
    for time, limit_s in ((option.token, goal.tpot_s), (option.first, goal.ttft_s)):
        if time is not None and limit_s:
            yield limit_s / time.time_s
    if goal.training and goal.days:
        yield goal.days / option.days


def _cost(option: Option, by: By) -> float:
    """What grows with the time of its steps, of which the first has least. Instances are not made whole."""
    if by is By.TIME:
        return option.token.time_s
    share = option.service.exact / option.systems if option.service is not None else 1.0
    if by is By.DOLLARS and option.dollars is not None:
        return option.dollars * share
    return share / option.tokens_per_s_device
