"""What a plan is for: a model and a job, limits that it has to keep, what it shall serve, and prices."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from trnbench import Nearest, UsageError
from trnbench.bounded import TABLE, kinds, read_file
from trnbench.errors import BadInput, listed
from trnbench.facts.table import near
from trnbench.record import Record
from trnbench_steps.job import LENGTH, Job, Recompute, Task, check_job
from trnbench_steps.model import Model
from trnbench_steps.paths import TYPES

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.registry import Registry


TRAINED = 1024
"""Sequences of a step of training where none are given."""

UTILISATION = 0.7
"""Named assumption: replicas are at work for this share of the time, of 0.5 to 1. Requests come evenly,
without bursts. Arrivals at random would wait for 1.2 prefills at 0.7: U / (2 (1 - U)), Pollaczek and
Khinchine for equal service times (Kleinrock 1975, Queueing Systems, volume 1)."""


class By(StrEnum):
    """What the first of a plan has least or most of."""

    TIME = "time"  # of a step
    THROUGHPUT = "throughput"  # tokens a second and device
    DOLLARS = "dollars"  # a million tokens, or the run


class Goal(Record, kw_only=True):
    """`batches` are sequences of a step on all ranks, as of a `Job`; without any, decoding searches them.

    Decoding: `kv` tokens in the cache, at most `tpot_s` seconds a token, and `ttft_s` for a prompt of
    `prompt` (0: no limit). `requests_per_s`, each of a prompt and `output` tokens, are served by replicas at
    work for `utilisation` of the time. Training: `tokens` in all, of sequences of `sequence`, in at most
    `days` (0: no limit). `weights`: types that are tried; of other parts, the one type as of a `Job`.
    `named`: the model as a person calls it; `named_facts`: files that commands name.
    """

    model: Model
    task: Task = Task.DECODE
    named: str = ""
    named_facts: tuple[Path, ...] = ()
    batches: tuple[int, ...] = ()
    kv: int = LENGTH
    prompt: int = 0
    output: int = 0
    requests_per_s: float = 0.0
    utilisation: float = UTILISATION
    tpot_s: float = 0.0
    ttft_s: float = 0.0
    sequence: int = LENGTH
    tokens: float = 0.0
    days: float = 0.0
    weights: tuple[str, ...] = ("bf16",)
    activations: str = "bf16"
    cache: str = "bf16"
    gradients: str = "bf16"
    moments: str = "fp32"
    master: str = "fp32"
    by: By = By.THROUGHPUT

    @property
    def training(self) -> bool:
        return self.task is Task.TRAIN

    @property
    def serves(self) -> bool:
        """Whether it says how much is asked for."""
        return self.requests_per_s > 0

    def jobs(self) -> list[Job]:
        """One for each type of weights: of a sequence that decodes, or of each batch that is trained on."""
        if self.training:
            return [
                replace(job, batch=batch, sequence=self.sequence, recompute=Recompute.SELECTIVE)
                for job in map(self._job, self.weights)
                for batch in self.batches or (TRAINED,)
            ]
        return [replace(self._job(weights), kv=self.kv) for weights in self.weights]

    def prefill(self, weights: str, replicas: int) -> Job:
        """A prompt on each replica."""
        job = self._job(weights)
        return replace(job, task=Task.PREFILL, batch=replicas, sequence=self.prompt, kv=self.kv)

    def _job(self, weights: str) -> Job:
        """Of its task, with the types of all parts."""
        others = {part: getattr(self, part) for part in TYPES if part != "weights"}
        return Job(task=self.task, weights=weights, **others)


def check_goal(goal: Goal) -> None:
    """Raises `UsageError` for a plan that says too little or contradicts itself."""
    if goal.model.encoder:
        raise UsageError(
            f"{goal.model.name} is an encoder",
            cause="a plan is for models that decode or are trained to predict words",
            try_="trnbench workload run MODEL --task prefill --sequence 128",
        )
    if goal.task is Task.PREFILL:
        raise UsageError(
            "--task prefill is no plan's",
            cause="a prompt is a part of what is decoded",
            try_="--task decode --prompt 2048 --ttft 500ms",
        )
    if goal.training and not goal.tokens:
        raise UsageError(
            "--tokens is not given",
            cause="the length of a training run depends on the tokens that it sees",
            try_="--tokens 1T --days 30",
        )
    for batch in goal.batches:
        kinds.SEQUENCES.checked(batch, "--batches")
    for limit, option in ((goal.tpot_s, "--tpot"), (goal.ttft_s, "--ttft"), (goal.days, "--days")):
        if not 0 <= limit < float("inf"):
            raise UsageError(f"{option} {limit:g} is no limit", cause="0 is none", try_=f"{option} 0.5")
    if goal.ttft_s and not goal.prompt:
        raise UsageError(
            "--ttft goes with --prompt",
            cause="the time to the first token depends on the length of the prompt",
            try_="--ttft 500ms --prompt 2048",
        )
    _check_demand(goal)
    if goal.prompt + goal.output > goal.kv:
        what = f"{goal.prompt:,} tokens" if not goal.output else f"{goal.prompt:,} and {goal.output:,} tokens"
        raise UsageError(
            f"a prompt of {what} {'are' if goal.output else 'is'} more than the cache of {goal.kv:,}",
            cause="the cache holds the prompt and what is generated",
            try_=f"--kv {goal.prompt + max(goal.output, goal.prompt)}",
        )
    for job in goal.jobs():
        check_job(job)


def _check_demand(goal: Goal) -> None:
    """Raises `UsageError` unless all is given that the number of instances follows from, or nothing."""
    if goal.output and not goal.serves:
        raise UsageError(
            "--output-tokens goes with --requests-per-s",
            cause="how many tokens a request asks for matters to a number of requests",
            try_=f"--requests-per-s 4 --prompt {goal.prompt or 1024} --output-tokens {goal.output}",
        )
    if goal.serves and not (goal.prompt and goal.output > 1):
        raise UsageError(
            "--requests-per-s goes with --prompt and --output-tokens, of 2 at least",
            cause="what a request takes is its prompt and, token by token, its output",
            try_=f"--requests-per-s {goal.requests_per_s:g} --prompt 1024 --output-tokens 500",
        )
    if not 0 < goal.utilisation <= 1:
        raise UsageError(
            f"a utilisation of {goal.utilisation:g} is none",
            cause="it is the share of the time in which replicas are at work, above 0 and at most 1",
            try_=f"--requests-per-s 4@{UTILISATION:g}",
        )


class Within(StrEnum):
    """Whether a limit is kept, the surest first."""

    SURELY = "surely"  # the upper end of the band keeps it
    MAYBE = "maybe"  # the modelled time keeps it, the upper end does not
    HARDLY = "hardly"  # the lower end alone does
    UNKNOWN = "unknown"  # the modelled time keeps it, and has no band

    @property
    def place(self) -> int:
        return list(Within).index(self)


class Expected(Record, kw_only=True):
    """Seconds that are modelled, and the ends of what that lets one expect (0: no band)."""

    time_s: float
    low_s: float = 0.0
    high_s: float = 0.0

    @classmethod
    def of(cls, time_s: float, nearest: Nearest, least_s: float) -> Expected:
        """By the band of `nearest`; no less than `least_s`."""
        if nearest.band is None:
            return cls(time_s=time_s)
        low, high = nearest.band.times(time_s, least_s)
        return cls(time_s=time_s, low_s=low, high_s=high)

    @property
    def banded(self) -> bool:
        return self.high_s > 0

    def plus(self, other: Expected, times: float = 1.0) -> Expected:
        """Both, the other `times` over; without a band where one has none. Both are off alike."""
        banded = self.banded and other.banded
        return Expected(
            time_s=self.time_s + times * other.time_s,
            low_s=self.low_s + times * other.low_s if banded else 0.0,
            high_s=self.high_s + times * other.high_s if banded else 0.0,
        )

    def times(self, factor: float) -> Expected:
        return Expected(time_s=self.time_s * factor, low_s=self.low_s * factor, high_s=self.high_s * factor)

    def within(self, limit_s: float) -> Within | None:
        """None where the limit is not kept: by the lower end of the band, or without one by the time."""
        if not limit_s:
            return Within.SURELY
        if not self.banded:
            return Within.UNKNOWN if self.time_s <= limit_s else None
        for end, verdict in (
            (self.high_s, Within.SURELY),
            (self.time_s, Within.MAYBE),
            (self.low_s, Within.HARDLY),
        ):
            if end <= limit_s:
                return verdict
        return None


COLUMNS = ("instance", "region", "kind", "dollars per hour", "date")
OLD_DAYS = 90
"""Beyond which a price is said to be old."""

HIGHEST = 1e6


class Price(Record, kw_only=True):
    """Of one instance, as its row says; `line` of the file."""

    instance: str
    region: str
    kind: str  # on demand, reserved, spot, capacity block
    dollars_per_hour: float
    date: datetime.date
    line: int

    def age(self, today: datetime.date) -> int:
        """In days."""
        return (today - self.date).days


def read_prices(path: Path) -> tuple[Price, ...]:
    """The rows of a CSV file, in their order.

    Raises `MissingFile`, and `BadInput` with the line for a column that is missing, a price that is none, or
    a date that is none or lies in the future.
    """
    try:
        text = read_file(path, most=TABLE).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path} is not UTF-8 text",
            cause=f"byte {error.start} cannot be decoded",
            try_="save it as UTF-8",
        ) from None
    reader = csv.reader(io.StringIO(text, newline=""))
    heads = [each.strip().lower() for each in next(reader, [])]
    for column in COLUMNS:
        if column not in heads:
            raise BadInput(
                f"{path}: no column {column!r}",
                cause=near(column, heads) if any(heads) else "the file is empty",
                try_=f"a first line of: {','.join(COLUMNS)}",
            )
    prices = []
    for row in reader:
        if any(each.strip() for each in row):
            cells = {name: cell.strip() for name, cell in zip(heads, row, strict=False)}
            prices.append(_price(path, reader.line_num, cells))
    if not prices:
        raise BadInput(f"{path} has no price", cause="there is no row below the first", try_=_EXAMPLE)
    return tuple(prices)


_EXAMPLE = "a row: trn2.48xlarge,us-east-2,on demand,46.99,2026-11-01"


def _price(path: Path, line: int, cells: dict[str, str]) -> Price:
    where = f"{path}, line {line}"
    for column in COLUMNS:
        if not cells.get(column):
            raise BadInput(f"{where}: no {column}", cause="a price without it says too little", try_=_EXAMPLE)
    said = cells["dollars per hour"].removeprefix("$")
    try:
        dollars = float(said)
    except ValueError:
        dollars = 0.0
    if not 0 < dollars <= HIGHEST:
        raise BadInput(
            f"{where}: {said!r} is no price",
            cause=f"it is dollars an hour, above 0 and up to {HIGHEST:,.0f}",
            try_=_EXAMPLE,
        )
    try:
        day = datetime.date.fromisoformat(cells["date"])
    except ValueError:
        raise BadInput(
            f"{where}: {cells['date']!r} is no date", cause="it is the day the price was seen", try_=_EXAMPLE
        ) from None
    return Price(
        instance=cells["instance"],
        region=cells["region"],
        kind=cells["kind"],
        dollars_per_hour=dollars,
        date=day,
        line=line,
    )


def price_of(registry: Registry, prices: Sequence[Price], system: System) -> Price | None:
    """The cheapest row of the system itself, of a cluster that of its size first, else of the instance that
    it is made of."""
    sized = cheapest(prices, (system.name,)) if system.instance.sizable else None
    own = sized or cheapest(prices, _names(system))
    if own is None and system.instance.parent:
        _, parent = registry.instance(system.instance.parent)
        own = cheapest(prices, (parent.name, *parent.aliases))
    return own


def check_prices(registry: Registry, prices: Sequence[Price], systems: Sequence[System]) -> None:
    """Raises `UsageError` where no row is about any of the systems: by dollars they have no order."""
    if any(price_of(registry, prices, system) for system in systems):
        return
    priced = listed(dict.fromkeys(price.instance for price in prices), "instance")
    raise UsageError(
        "no price is of a system that is planned",
        cause=f"prices are of {priced}; planned: {listed([each.name for each in systems], 'system')}",
        try_=f"a row of {systems[0].name}, or --by throughput" if systems else "another -i",
    )


def unnamed(registry: Registry, prices: Sequence[Price]) -> tuple[Price, ...]:
    """Rows whose instance no plugin describes: misspelt, or of another maker."""
    names = registry.instance_names(aliases=True)
    return tuple(price for price in prices if price.instance.partition(":")[0] not in names)


def _names(system: System) -> tuple[str, ...]:
    return (system.name, system.instance.name, *system.instance.aliases)


def cheapest(prices: Sequence[Price], names: Sequence[str]) -> Price | None:
    """The row of an instance by any of its names; None where there is none."""
    matching = [price for price in prices if price.instance in names]
    return min(matching, key=lambda each: (each.dollars_per_hour, each.line), default=None)


def hourly(system: System, price: Price) -> float:
    """Dollars of an hour of the system, which is made of one or more of what the price is about. A row of a
    cluster that names no size is of one of its instances."""
    names = (system.name,) if system.instance.sizable else _names(system)
    return price.dollars_per_hour * (1 if price.instance in names else system.hosts)
