"""What a plan is for: a model and a job, the limits that it has to keep, and what it shall serve."""

from __future__ import annotations

from enum import Enum

import msgspec

from trnbench import Nearest, UsageError
from trnbench.bounded import kinds
from trnbench_steps.job import LENGTH, Job, Recompute, Task, check_job
from trnbench_steps.model import Model

TRAINED = 1024
"""Sequences of a step of training where none are given."""

UTILISATION = 0.7
"""Named assumption: replicas are at work for this share of the time, of 0.5 to 1. Requests come evenly,
without bursts. Arrivals at random would wait for 1.2 prefills at 0.7: U / (2 (1 - U)), Pollaczek and
Khinchine for equal service times (Kleinrock 1975, Queueing Systems, volume 1)."""


class By(str, Enum):
    """What the first of a plan has least or most of."""

    TIME = "time"  # of a step
    THROUGHPUT = "throughput"  # tokens a second and device
    DOLLARS = "dollars"  # a million tokens, or the run

    def __str__(self) -> str:
        return self.value


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """`batches` are sequences of a step on all ranks, as of a `Job`; without any, decoding searches them.

    Decoding: `kv` tokens in the cache, at most `tpot_s` seconds a token, and `ttft_s` for a prompt of
    `prompt` (0: no limit). `requests_per_s`, each of a prompt and `output` tokens, are served by replicas at
    work for `utilisation` of the time. Training: `tokens` in all, of sequences of `sequence`, in at most
    `days` (0: no limit). `weights`: types that are tried. `named`: the model as a person calls it.
    """

    model: Model
    task: Task = Task.DECODE
    named: str = ""
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
                Job(
                    task=Task.TRAIN,
                    batch=batch,
                    sequence=self.sequence,
                    weights=weights,
                    recompute=Recompute.SELECTIVE,
                )
                for weights in self.weights
                for batch in self.batches or (TRAINED,)
            ]
        return [Job(task=Task.DECODE, kv=self.kv, weights=weights) for weights in self.weights]

    def prefill(self, weights: str, replicas: int) -> Job:
        """A prompt on each replica."""
        return Job(task=Task.PREFILL, batch=replicas, sequence=self.prompt, kv=self.kv, weights=weights)


def check_goal(goal: Goal) -> None:
    """Raises `UsageError` for a plan that says too little or contradicts itself."""
    if goal.model.encoder:
        raise UsageError(
            f"{goal.model.name} is an encoder",
            cause="a plan is for models that decode or are trained to predict words",
            try_="trnbench workload run MODEL --task prefill --sequence 128",
        )
    if goal.training and not goal.tokens:
        raise UsageError(
            "--tokens is not given",
            cause="the length of a training run depends on the tokens that it sees",
            try_="--tokens 1T --days 30",
        )
    for batch in goal.batches:
        kinds.SEQUENCES.checked(batch, "--batches")
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


class Within(str, Enum):
    """Whether a limit is kept, the surest first."""

    SURELY = "surely"  # the upper end of the band keeps it
    MAYBE = "maybe"  # the modelled time keeps it, the upper end does not
    HARDLY = "hardly"  # the lower end alone does
    UNKNOWN = "unknown"  # the modelled time keeps it, and has no band

    def __str__(self) -> str:
        return self.value

    @property
    def place(self) -> int:
        return list(Within).index(self)


class Expected(msgspec.Struct, frozen=True, kw_only=True):
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
