"""What a plan is for: a model and a job, and the limits that it has to keep."""

from __future__ import annotations

from enum import Enum

import msgspec

from trnbench.errors import UsageError
from trnbench_steps.job import Job, Recompute, Task, check_job
from trnbench_steps.model import Model

BATCHES = (1, 2, 4, 8, 16, 32, 64)
"""Sequences of a replica that are tried where none are given."""


class By(str, Enum):
    """What the first of a plan has least or most of."""

    TIME = "time"  # of a step
    THROUGHPUT = "throughput"  # tokens a second and device
    DOLLARS = "dollars"  # a million tokens, or the run

    def __str__(self) -> str:
        return self.value


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """`batches` are sequences of each replica of a model that decodes, or the global batch of training.

    Decoding: `kv` tokens in the cache, at most `tpot_s` seconds a token, and `ttft_s` for a prompt of
    `prompt` (0: no limit). Training: `tokens` in all, of sequences of `sequence`, in at most `days` (0: no
    limit).
    """

    model: Model
    task: Task
    batches: tuple[int, ...] = BATCHES
    kv: int = 4096
    prompt: int = 0
    tpot_s: float = 0.0
    ttft_s: float = 0.0
    sequence: int = 4096
    tokens: float = 0.0
    days: float = 0.0
    weights: str = "bf16"
    by: By = By.THROUGHPUT

    def job(self, batch: int, replicas: int) -> Job:
        """The step of `batch` sequences: of each of `replicas`, or of all ranks in training."""
        if self.task is Task.TRAIN:
            return Job(
                task=Task.TRAIN,
                batch=batch,
                sequence=self.sequence,
                weights=self.weights,
                recompute=Recompute.SELECTIVE,
            )
        return Job(task=Task.DECODE, batch=batch * replicas, kv=self.kv, weights=self.weights)

    def prefill(self, replicas: int) -> Job:
        """A prompt on each replica."""
        return Job(task=Task.PREFILL, batch=replicas, sequence=self.prompt, kv=self.kv, weights=self.weights)


def check_goal(goal: Goal) -> None:
    """Raises `UsageError` for a plan that says too little or contradicts itself."""
    if goal.model.encoder:
        raise UsageError(
            f"{goal.model.name} is an encoder",
            cause="a plan is for models that decode or are trained to predict words",
            try_="trnbench workload run MODEL --task prefill --sequence 128",
        )
    if goal.task is Task.TRAIN and not goal.tokens:
        raise UsageError(
            "--tokens is not given",
            cause="the length of a training run depends on the tokens that it sees",
            try_="--tokens 1T --days 30",
        )
    if goal.ttft_s and not goal.prompt:
        raise UsageError(
            "--ttft goes with --prompt",
            cause="the time to the first token depends on the length of the prompt",
            try_="--ttft 500ms --prompt 2048",
        )
    if goal.prompt > goal.kv:
        raise UsageError(
            f"a prompt of {goal.prompt:,} tokens is longer than the cache of {goal.kv:,}",
            cause="the cache holds the prompt and what is generated",
            try_=f"--kv {goal.prompt * 2}",
        )
    check_job(goal.job(goal.batches[0], 1))
