"""One layout on one system, what a step takes and costs there; the front of options, and what flips it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench import Nearest, percent, show
from trnbench.record import Record
from trnbench_steps.job import Job
from trnbench_steps.layout import Layout
from trnbench_steps.paths import TYPES
from trnbench_steps.plan.composed import Why
from trnbench_steps.plan.demand import Service, Way, turned, words
from trnbench_steps.plan.goal import By, Expected, Goal, Price, Within

if TYPE_CHECKING:
    from trnbench.registry import Registry


class Refused(Record, kw_only=True):
    """`batches` that the same reason refuses on this layout."""

    system: str
    layout: str
    batches: tuple[int, ...]
    why: Why
    reason: str


class Option(Record, kw_only=True):
    """A feasible one. `step` is a step of `job` as it is put together; `token` what a token of a request
    takes, which with prompts between the steps is longer; of training the step. `first`: until a first token.

    `tokens_per_s` of the whole system, or of what serves the demand; `limit` is the largest part of the step
    and its share; `of_documents` is the least time that documents allow over the step's. `days`: of training.
    `dollars`: of the training, or of a million tokens; `dollars_per_hour` of all instances.
    """

    system: str
    layout: Layout
    job: Job
    devices: int
    step: Expected
    token: Expected
    within: Within
    tokens_per_s: float
    limit: str
    limit_share: float
    of_documents: float
    used: float  # of the fullest device's HBM
    nearest: Nearest
    first: Expected | None = None
    service: Service | None = None
    days: float = 0.0
    dollars: float | None = None
    dollars_per_hour: float | None = None
    price: Price | None = None
    notes: tuple[str, ...] = ()

    @property
    def batch(self) -> int:
        """Sequences of a step, on all ranks together."""
        return self.job.batch

    @property
    def systems(self) -> int:
        """How many of the system serve the demand; 1 where none was stated."""
        return self.service.systems if self.service is not None else 1

    @property
    def banded(self) -> bool:
        return self.token.banded

    @property
    def tokens_per_s_device(self) -> float:
        return self.tokens_per_s / (self.devices * self.systems)

    @property
    def layout_words(self) -> str:
        """Everything that tells it from others on its system, the batch aside."""
        return ", ".join(filter(None, (words(self.layout), turned(self.layout, self.job))))


def command(goal: Goal, option: Option) -> str:
    """What one types to see the option's step with all its parts."""
    named = goal.named or goal.model.name
    return step_command(named, option.system, option.layout, option.job, goal.named_facts)


def step_command(named: str, system: str, layout: Layout, job: Job, facts: Sequence[Path] = ()) -> str:
    """`trnbench workload run` with every field that is not as usual."""
    typed = ["trnbench", "workload", "run", named, "-i", system, "--task", str(job.task)]
    usual_layout, usual_job = Layout(), Job(task=job.task)
    for struct, usual in ((layout, usual_layout), (job, usual_job)):
        for name in struct.__struct_fields__:
            value = getattr(struct, name)
            if value == getattr(usual, name) or name == "task":
                continue
            if name in TYPES:
                typed += ["--type", f"{name}={value or 'none'}"]
            elif value is True:
                typed.append(f"--{name.replace('_', '-')}")
            else:
                typed += [f"--{name.replace('_', '-')}", str(value)]
    typed += [word for path in facts for word in ("--facts", str(path))]
    return shlex.join(typed)


class ParetoOption(Record, kw_only=True):
    """`time_s` of a token or a step, `low_s` to `high_s` its band (0: none); `cost` in the chart's unit;
    `best`: no option is both faster and cheaper."""

    name: str
    time_s: float
    cost: float
    low_s: float = 0.0
    high_s: float = 0.0
    best: bool = False


class Pareto(Record, kw_only=True):
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


class Flip(Record, kw_only=True):
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
    """Of the first of `options` against the next on another system or layout, and of the best of each other
    generation against the first; only what a band does not rule out."""
    if not options:
        return []
    first = options[0]
    turns: list[Flip] = []
    rival = next((option for option in options if not _alike(option, first)), None)
    if rival is not None and not _as_many(first, rival):
        slower = [(cost_by(rival, goal.by) / cost_by(first, goal.by), False)]
        slower += [(share, True) for share in _room(goal, first)]
        factor, limit = min((each for each in slower if each[0] >= 1), default=(0.0, False))
        if factor and (not first.banded or factor * first.step.time_s <= first.step.high_s):
            turns.append(_flip(goal, first, factor, label(rival), above=True, limit=limit))
    for other in _elsewhere(registry, options):
        ways = [cost_by(first, goal.by) / cost_by(other, goal.by), *_room(goal, other)]
        factor = min(ways)
        if not other.banded or factor * other.step.time_s >= other.step.low_s:
            turns.append(_flip(goal, other, factor, label(other), above=False))
    return turns


def _flip(goal: Goal, option: Option, factor: float, then: str, *, above: bool, limit: bool = False) -> Flip:
    return Flip(
        measured=label(option),
        command=command(goal, option),
        expected=option.step,
        beyond_s=factor * option.step.time_s,
        above=above,
        then=then,
        limit=limit,
    )


def _alike(one: Option, other: Option) -> bool:
    """Batches of one layout, which a measurement of one moves together."""
    return (one.system, one.layout) == (other.system, other.layout)


def _as_many(one: Option, other: Option) -> bool:
    """Whether a demand takes as many instances of both, so that shares of one decide nothing."""
    return one.service is not None and other.service is not None and one.systems == other.systems


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
    shares = option.service is not None and option.service.way is Way.SHARED
    first = option.first if shares else None  # else no step is part of what comes before the first token
    for time, limit_s in ((option.token, goal.tpot_s), (first, goal.ttft_s)):
        if time is not None and limit_s:
            yield limit_s / time.time_s
    if goal.training and goal.days:
        yield goal.days / option.days


def cost_by(option: Option, by: By) -> float:
    """What grows with the time of its steps, of which the first has least. Instances are not made whole."""
    if by is By.TIME:
        return option.token.time_s
    share = option.service.exact / option.systems if option.service is not None else 1.0
    if by is By.DOLLARS and option.dollars is not None:
        return option.dollars * share
    return share / option.tokens_per_s_device
