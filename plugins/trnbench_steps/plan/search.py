"""Every layout on every system: refused with the reason, or composed; the feasible ones ranked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING

import msgspec

from trnbench.errors import TrnbenchError, UsageError
from trnbench.facts.units import show
from trnbench.run.expectation import expectations
from trnbench_emulator.backend import MODEL_VERSION
from trnbench_steps.division import Division, divide
from trnbench_steps.floor import floor
from trnbench_steps.hbm import Fit, fit
from trnbench_steps.job import Task
from trnbench_steps.layout import Layout
from trnbench_steps.plan.goal import By, Goal, check_goal
from trnbench_steps.plan.layouts import layouts, words
from trnbench_steps.plan.option import Option, Refused, Why
from trnbench_steps.plan.price import Price, of_instance
from trnbench_steps.step import StepModel
from trnbench_steps.step_constants import constants_of

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.registry import Registry

DAY = 86_400.0
MILLION = 1e6


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`options` in their order, those that have a band before those that have none; `refused` in that of the
    search. `without_price` names systems that no row of the prices is about."""

    goal: Goal
    options: tuple[Option, ...]
    refused: tuple[Refused, ...]
    without_price: tuple[str, ...] = ()

    @property
    def banded(self) -> tuple[Option, ...]:
        return tuple(each for each in self.options if each.banded)


def plan(
    registry: Registry,
    goal: Goal,
    systems: Sequence[System],
    prices: Iterable[Price] = (),
    told: Callable[[str], None] = lambda _: None,
) -> Plan:
    """All layouts of `goal` on `systems`. `told` hears of each system before it is looked at.

    Raises `UsageError` for a plan that says too little.
    """
    check_goal(goal)
    known = tuple(prices)
    search = _Search(registry, goal, known)
    for system in systems:
        told(system.name)
        search.system(system)
    unpriced = {name for name, price in search.priced.items() if price is None} if known else set()
    return Plan(
        goal=goal,
        options=tuple(sorted(search.options, key=lambda each: _place(each, goal.by))),
        refused=tuple(search.refused.values()),
        without_price=tuple(sorted(unpriced)),
    )


def _place(option: Option, by: By) -> tuple[object, ...]:
    """Those with a band first; then what is asked for, then the rest."""
    dollars = float("inf") if option.dollars is None else option.dollars
    keys = {
        By.TIME: (option.time_s, dollars),
        By.THROUGHPUT: (-option.tokens_per_s_device, option.time_s),
        By.DOLLARS: (dollars, option.time_s),
    }
    return (not option.banded, *keys[by], option.system, words(option.layout), option.batch)


class _Search:
    def __init__(self, registry: Registry, goal: Goal, prices: tuple[Price, ...]) -> None:
        self.registry, self.goal, self.prices = registry, goal, prices
        self.model, self.expected = StepModel(), expectations(registry, {})
        self.options: list[Option] = []
        self.refused: dict[tuple[str, str, str], Refused] = {}
        self.priced: dict[str, Price | None] = {}
        self.first: dict[tuple[str, Layout], float] = {}

    def system(self, system: System) -> None:
        self.priced[system.name] = self._price(system)
        seen = 0
        for layout in layouts(self.goal.model, self.goal.task, system):
            if self.goal.task is Task.TRAIN and seen and layout.pp > 1 and self._stands(system, layout):
                continue  # more stages than it needs to fit only add a bubble
            for batch in self.goal.batches:
                self._try(system, layout, batch)
            seen += 1

    def _stands(self, system: System, layout: Layout) -> bool:
        """Whether fewer stages at the same tensor degree are an option already."""
        return any(
            each.system == system.name and each.layout.tp == layout.tp and each.layout.pp < layout.pp
            for each in self.options
        )

    def _try(self, system: System, layout: Layout, batch: int) -> None:
        job = self.goal.job(batch, layout.dp)
        try:
            division = divide(self.goal.model, layout, job)
        except UsageError as error:
            self._refuse(system, layout, batch, Why.DIVIDES, error.what)
            return
        try:
            lies = fit(division, system)
        except UsageError as error:
            self._refuse(system, layout, batch, Why.FITS, error.what)
            return
        if not lies.fits:
            self._refuse(system, layout, batch, Why.FITS, lies.verdict.removeprefix("does not fit: "))
            return
        least = self._time_of(floor(division, system).time_s, batch)
        if slow := self._too_slow(least, "at least "):
            self._refuse(system, layout, batch, Why.SLOW, slow)
            return
        try:
            option = self._composed(division, system, lies, batch)
        except TrnbenchError as error:
            self._refuse(system, layout, batch, Why.TIMED, error.what)
            return
        slow = self._too_slow(self._time_of(option.time_s, batch)) or self._late(option)
        if slow:
            self._refuse(system, layout, batch, Why.SLOW, slow)
            return
        self.options.append(option)

    def _time_of(self, step_s: float, batch: int) -> float:
        """What the limit is about: a token, or all of the training."""
        if self.goal.task is Task.TRAIN:
            return self.goal.tokens / (batch * self.goal.sequence) * step_s
        return step_s

    def _too_slow(self, time_s: float, least: str = "") -> str:
        if self.goal.task is Task.TRAIN:
            allowed = self.goal.days * DAY
            if allowed and time_s > allowed:
                return f"{least}{time_s / DAY:,.0f} days, allowed are {self.goal.days:g}"
            return ""
        allowed = self.goal.tpot_s
        if allowed and time_s > allowed:
            return f"{least}{show(time_s, 's')} a token, allowed are {show(allowed, 's')}"
        return ""

    def _late(self, option: Option) -> str:
        allowed = self.goal.ttft_s
        if allowed and option.first_s > allowed:
            return f"{show(option.first_s, 's')} to the first token, allowed are {show(allowed, 's')}"
        return ""

    def _composed(self, division: Division, system: System, lies: Fit, batch: int) -> Option:
        constants = constants_of(system)
        parts = self.model.parts(division, system)
        step = parts.time(constants)
        time_s = step.time_s
        nearest = self.expected.nearest(division, system, version=MODEL_VERSION)
        least = floor(division, system).time_s
        low, high = nearest.band.times(time_s, least) if nearest.band is not None else (0.0, 0.0)
        limit = max(step.parts, key=lambda name: step.parts[name])
        training = self.goal.task is Task.TRAIN
        tokens = division.job.batch * (self.goal.sequence if training else 1) / time_s
        price = self.priced[system.name]
        option = Option(
            system=system.name,
            layout=division.layout,
            batch=batch,
            devices=system.devices,
            time_s=time_s,
            low_s=low,
            high_s=high,
            tokens_per_s=tokens,
            limit=limit,
            limit_share=step.parts[limit] / time_s,
            of_documents=least / time_s,
            used=lies.used / lies.capacity,
            nearest=nearest,
            parts=parts,
            days=self.goal.tokens / tokens / DAY if training else 0.0,
            price=price,
            notes=lies.notes,
            first_s=0.0 if training or not self.goal.prompt else self._first(system, division.layout),
        )
        if price is None:
            return option
        hourly = price.dollars_per_hour * _instances(system, price)
        amount = self.goal.tokens if training else MILLION
        return msgspec.structs.replace(option, dollars=hourly * amount / tokens / 3600)

    def _first(self, system: System, layout: Layout) -> float:
        """Seconds of a prompt on every replica; once for a layout, whatever the batch that decodes."""
        key = (system.name, layout)
        if key not in self.first:
            division = divide(self.goal.model, layout, self.goal.prefill(layout.dp))
            self.first[key] = self.model.time(division, system, constants_of(system)).time_s
        return self.first[key]

    def _price(self, system: System) -> Price | None:
        """The cheapest row of the system itself, else of the instance that it is made of."""
        instance = system.instance
        own = of_instance(self.prices, (system.name, instance.name, *instance.aliases))
        if not own and instance.parent:
            _, parent = self.registry.instance(instance.parent)
            own = of_instance(self.prices, (parent.name, *parent.aliases))
        return own[0] if own else None

    def _refuse(self, system: System, layout: Layout, batch: int, why: Why, reason: str) -> None:
        """Batches that are refused for the same kind of reason are one row, with the first one's words."""
        key = (system.name, words(layout), str(why))
        told = self.refused.get(key)
        if told is None:
            self.refused[key] = Refused(
                system=system.name, layout=words(layout), batches=(batch,), why=why, reason=reason
            )
        else:
            self.refused[key] = msgspec.structs.replace(told, batches=(*told.batches, batch))


def _instances(system: System, price: Price) -> int:
    """How many of what the price is about the system is made of."""
    own = (system.name, system.instance.name, *system.instance.aliases)
    return 1 if price.instance in own and not system.instance.sizable else system.hosts


def today() -> date:
    """The day that prices are held against."""
    return date.today()
