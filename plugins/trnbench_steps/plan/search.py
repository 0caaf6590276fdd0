"""Layouts on every system, refused with the reason or put together; what is next to the best is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from trnbench import System, show
from trnbench.record import Record
from trnbench_steps.job import Job, Recompute
from trnbench_steps.layout import Layout
from trnbench_steps.plan.batches import MOST, NO_COST, Cost, largest, least_cost
from trnbench_steps.plan.composed import Composed, Refusal, Steps, Why
from trnbench_steps.plan.demand import Serving, layouts, neighbours, words
from trnbench_steps.plan.goal import (
    By,
    Expected,
    Goal,
    Price,
    Within,
    check_goal,
    hourly,
    price_of,
    unnamed,
)
from trnbench_steps.plan.pareto import Option, Refused, cost_by

if TYPE_CHECKING:
    from trnbench.registry import Registry

DAY = 86_400.0
MILLION = 1e6


class Plan(Record, kw_only=True):
    """`options` in their order, those that have a band before those that have none; `refused` in that of the
    search. `without_price` names systems that no row of the prices is about; `unused` rows name no instance.
    `steps`: that were put together.
    `beaten`: layouts of training that take longer without what is exchanged at the end of a step than the
    best of their system with it.
    """

    goal: Goal
    options: tuple[Option, ...]
    refused: tuple[Refused, ...]
    without_price: tuple[str, ...] = ()
    unused: tuple[Price, ...] = ()
    steps: int = 0
    beaten: int = 0

    @property
    def banded(self) -> tuple[Option, ...]:
        return tuple(option for option in self.options if option.banded)


def search(
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
    work = _Search(registry, goal, {each.name: price_of(registry, known, each) for each in systems})
    names = {each.instance.name for each in systems}
    for system in systems:
        told(system.name)
        work.system(system, names)
    return Plan(
        goal=goal,
        options=tuple(sorted(work.options.values(), key=lambda each: place(each, goal.by))),
        refused=tuple(work.refused.values()),
        without_price=tuple(sorted(name for name, price in work.prices.items() if known and price is None)),
        unused=unnamed(registry, known),
        steps=work.steps.count,
        beaten=len(work.beaten),
    )


def place(option: Option, by: By) -> tuple[object, ...]:
    """Those with a band first, then those that keep the limits more surely; then what is asked for, and the
    rest."""
    tie = (option.system, option.layout_words, option.batch)
    return (not option.banded, option.within.place, *worth(option, by), *tie)


def worth(option: Option, by: By) -> Cost:
    """What is asked for, then the rest; instances are whole."""
    dollars = float("inf") if option.dollars is None else option.dollars
    keys = {
        By.TIME: (option.token.time_s, dollars),
        By.THROUGHPUT: (-option.tokens_per_s_device, option.token.time_s),
        By.DOLLARS: (dollars, option.token.time_s),
    }
    return keys[by]


_Outcome: TypeAlias = tuple[Option | None, Refusal | None]
"""What a layout, a batch and a way of serving come to, and why it is none or too slow."""


class _Search:
    def __init__(self, registry: Registry, goal: Goal, prices: dict[str, Price | None]) -> None:
        self.goal, self.prices = goal, prices
        self.steps = Steps(registry, goal.model)
        self.serving = Serving(goal, self.steps)
        self.outcomes: dict[tuple[object, ...], _Outcome] = {}
        self.options: dict[int, Option] = {}
        self.beaten: set[tuple[str, Layout, Job]] = set()
        self.refused: dict[tuple[str, str, str], Refused] = {}

    def system(self, system: System, names: set[str]) -> None:
        """Coarse layouts, then from the best of them whatever is next to it and better."""
        coarse = [each for job in self.goal.jobs() for each in self._coarse(system, job)]
        best = self._best(system, coarse, names, None)
        while best is not None:
            option = best
            best = self._best(system, neighbours(self.goal.model, best.layout, best.job, system), names, best)
            if best is option:
                break

    def _best(
        self, system: System, among: Iterable[tuple[Layout, Job]], names: set[str], best: Option | None
    ) -> Option | None:
        """The best of `best` and these. Of training, the most promising come first: more are beaten then."""
        found = [choice for choice in dict.fromkeys(among) if not self._like_parent(system, choice[0], names)]
        quietly = best is not None
        if self.goal.training:
            found.sort(key=lambda each: self.steps.least_s(each[0], each[1], system) / each[1].batch)
        for layout, job in found:
            if best is None or not self._beaten(best, system, layout, job):
                tried = self._tried(system, layout, job, quietly=quietly)
                known = tried if best is None else [best, *tried]
                best = min(known, key=lambda each: place(each, self.goal.by), default=None)
        return best

    def _beaten(self, best: Option, system: System, layout: Layout, job: Job) -> bool:
        """Whether no exchange is so quick that training on this layout is better than `best`."""
        if not self.goal.training or job.batch != best.batch:
            return False
        least_s = self.steps.least_s(layout, job, system)
        beaten = best.step.time_s <= least_s < float("inf")
        if beaten:
            self.beaten.add((system.name, layout, job))
        return beaten

    def _coarse(self, system: System, job: Job) -> Iterator[tuple[Layout, Job]]:
        """Of training, at each tensor degree, the fewest stages that it fits into with what is recomputed by
        default, and with all of it."""
        fits: set[tuple[int, Recompute]] = set()
        for layout in layouts(self.goal.model, self.goal.task, system):
            if not self.goal.training:
                yield layout, job
                continue
            for recompute in (job.recompute, Recompute.FULL):
                other = replace(job, recompute=recompute)
                if {(layout.tp, recompute), (layout.tp, job.recompute)} & fits:
                    continue
                if not isinstance(self.steps.placed(layout, other, system), Refusal):
                    fits.add((layout.tp, recompute))
                yield layout, other

    def _like_parent(self, system: System, layout: Layout, names: set[str]) -> bool:
        """Whether each replica lies in one instance of a larger system that is looked at by itself, and costs
        as much there."""
        parent = system.instance.parent
        if self.goal.training or parent not in names:
            return False
        known, alone = self.prices[system.name], self.prices.get(parent)
        if known is None or alone is None:
            dearer = known is not alone
        else:
            dearer = hourly(system, known) != alone.dollars_per_hour * system.hosts
        return not dearer and layout.ranks // layout.dp * system.hosts <= layout.ranks

    def _tried(self, system: System, layout: Layout, job: Job, *, quietly: bool) -> list[Option]:
        """Options of a layout, at each batch that is worth a look. `quietly`: no refusal is told."""
        tries: list[Option] = []
        for way in self.serving.ways(system, job.weights):
            for batch in self._batches(system, layout, job, way):
                option, refusal = self._option(system, layout, replace(job, batch=batch), way)
                if refusal is None and option is not None:
                    tries.append(option)
                    self.options[id(option)] = option
                elif refusal is not None and not quietly:
                    self._refuse(system, layout, batch, refusal)
        return tries

    def _batches(self, system: System, layout: Layout, job: Job, way: str) -> tuple[int, ...]:
        """Sequences of a step: those given, else one for each replica, the most that keep the limits, by the
        modelled time and by the upper end of its band, and the most that fit where there is no limit. Fewer,
        where these yield more."""
        goal, replicas = self.goal, layout.dp
        if goal.training:
            return (job.batch,)
        if goal.batches:
            return goal.batches

        def fits(each: int) -> bool:
            lies = self.steps.placed(layout, replace(job, batch=each * replicas), system)
            return not isinstance(lies, Refusal)

        if not fits(1):
            return (replicas,)
        most = largest(lambda each: 0.0 if fits(each) else 2.0, 1, MOST)

        known: set[int] = set()

        def at(each: int) -> Option | None:
            known.add(each)
            return self._option(system, layout, replace(job, batch=each * replicas), way)[0]

        def share(each: int, end: str) -> float:
            option = at(each)
            return self._over(option, end) if option is not None else float("inf")

        def cost(each: int, end: str) -> Cost:
            option = at(each)
            if option is None or self._over(option, end) > 1:
                return NO_COST
            # Instances that serve a demand are whole: a batch that needs no fewer of them only takes longer.
            whole = goal.serves and (goal.by is not By.DOLLARS or option.dollars is not None)
            return worth(option, goal.by) if whole else (cost_by(option, goal.by), 0.0)

        wanted = {1}
        for end in ("time_s", "high_s") if share(1, "time_s") <= 1 else ("low_s",):
            if share(1, end) <= 1:
                top = largest(partial(share, end=end), 1, most)
                costs = partial(cost, end=end)
                wanted.add(top if goal.by is By.TIME else least_cost(costs, known, top, fewest=goal.serves))
        return tuple(each * replicas for each in sorted(wanted))

    def _over(self, option: Option, end: str) -> float:
        """What an end of the band, or the time where there is none, takes of the tightest limit; 0 without
        one."""
        limits = ((option.token, self.goal.tpot_s), (option.first, self.goal.ttft_s))
        return max(
            (
                (getattr(time, end) if time.banded else time.time_s) / limit
                for time, limit in limits
                if limit and time is not None
            ),
            default=0.0,
        )

    def _option(self, system: System, layout: Layout, job: Job, way: str) -> _Outcome:
        """As it is put together, whether it keeps the limits or not."""
        key = (system.name, layout, job, way)
        if key not in self.outcomes:
            self.outcomes[key] = self._compose(system, layout, job, way)
        return self.outcomes[key]

    def _compose(self, system: System, layout: Layout, job: Job, way: str) -> _Outcome:
        placed = self.steps.placed(layout, job, system)
        if isinstance(placed, Refusal):
            return None, placed
        if slow := self._ruled_out(placed.least_s, job):
            return None, slow
        composed = self.steps.composed(layout, job, system)
        if isinstance(composed, Refusal):
            return None, composed
        return self._weigh(composed, way)

    def _ruled_out(self, least_s: float, job: Job) -> Refusal | None:
        """By the documents alone."""
        goal = self.goal
        if goal.training:
            days = goal.tokens / (job.batch * goal.sequence) * least_s / DAY
            late = goal.days and days > goal.days
            return (
                Refusal(Why.SLOW, f"at least {days:,.0f} days, allowed are {goal.days:g}") if late else None
            )
        if goal.tpot_s and least_s > goal.tpot_s:
            told = f"at least {show(least_s, 's')} a token, allowed are {show(goal.tpot_s, 's')}"
            return Refusal(Why.SLOW, told)
        return None

    def _weigh(self, composed: Composed, way: str) -> _Outcome:
        goal, placed, time = self.goal, composed.placed, composed.time
        job, layout, system = placed.division.job, placed.division.layout, placed.system
        training = goal.training
        service = self.serving.service(composed, way) if way else None
        if isinstance(service, Refusal):
            return None, service
        token = service.token if service is not None else time
        first = service.first if service is not None else self.serving.first(system, layout, job.weights)
        if isinstance(first, Refusal):
            return None, first
        tokens = job.batch * (goal.sequence if training else 1) / time.time_s
        days = goal.tokens / tokens / DAY if training else 0.0
        within = self._within(token, first, time.times(days / time.time_s))
        limit = max(composed.step.parts, key=lambda name: composed.step.parts[name])
        option = Option(
            system=system.name,
            layout=layout,
            job=job,
            devices=system.devices,
            step=time,
            token=token,
            within=within if isinstance(within, Within) else Within.HARDLY,
            tokens_per_s=goal.requests_per_s * goal.output if service is not None else tokens,
            limit=limit,
            limit_share=composed.step.parts[limit] / time.time_s,
            of_documents=placed.least_s / time.time_s,
            used=placed.lies.used / placed.lies.capacity,
            nearest=composed.nearest,
            first=first,
            service=service,
            days=days,
            price=self.prices[system.name],
            notes=placed.lies.notes,
        )
        return self._priced(option, system), within if isinstance(within, Refusal) else None

    def _within(self, token: Expected, first: Expected | None, days: Expected) -> Within | Refusal:
        """The least sure of all limits, or which of them is not kept."""
        goal = self.goal
        verdicts = [Within.SURELY if token.banded else Within.UNKNOWN]
        for time, limit, what in (
            (days, goal.days if goal.training else 0.0, "days"),
            (token, goal.tpot_s, "a token"),
            (first, goal.ttft_s, "to the first token"),
        ):
            if time is None or not limit:
                continue
            verdict = time.within(limit)
            if verdict is None:
                least = "at least " if time.banded else ""
                least_s = time.low_s or time.time_s
                if what == "days":
                    return Refusal(Why.SLOW, f"{least}{least_s:,.0f} days, allowed are {limit:g}")
                told = f"{least}{show(least_s, 's')} {what}, allowed are {show(limit, 's')}"
                return Refusal(Why.SLOW, told)
            verdicts.append(verdict)
        return max(verdicts, key=lambda each: each.place)

    def _priced(self, option: Option, system: System) -> Option:
        if option.price is None:
            return option
        per_hour = hourly(system, option.price) * option.systems
        amount = self.goal.tokens if self.goal.training else MILLION
        dollars = per_hour * amount / option.tokens_per_s / 3600
        return replace(option, dollars_per_hour=per_hour, dollars=dollars)

    def _refuse(self, system: System, layout: Layout, batch: int, refusal: Refusal) -> None:
        """Batches that are refused for the same kind of reason are one row, with the first one's words."""
        key = (system.name, words(layout), str(refusal.why))
        row = self.refused.get(key)
        if row is None:
            self.refused[key] = Refused(
                system=system.name,
                layout=words(layout),
                batches=(batch,),
                why=refusal.why,
                reason=refusal.reason,
            )
        elif batch not in row.batches:
            self.refused[key] = replace(row, batches=(*row.batches, batch))


def today() -> date:
    """The day that prices are held against."""
    return date.today()
