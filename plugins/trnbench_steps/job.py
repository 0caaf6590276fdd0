"""What is done with a model: how much of it at once, and in which types."""

from __future__ import annotations

from enum import StrEnum

from msgspec.structs import force_setattr

from trnbench import UnknownName, UsageError, item_bytes
from trnbench.bounded import kinds
from trnbench.record import Record
from trnbench_steps.paths import BLOCKS, CHOSEN, EVERY, OPERATORS, PATHS, TYPES


class Task(StrEnum):
    TRAIN = "train"
    PREFILL = "prefill"  # the prompt: all its tokens at once, nothing cached before
    DECODE = "decode"  # one token after those in the cache


class Recompute(StrEnum):
    """What is worked out again in the backward pass instead of kept (Korthikanti et al. 2022)."""

    NONE = "none"
    SELECTIVE = "selective"  # scores and softmax of attention
    FULL = "full"  # all of a layer but its input


LENGTH = 4096
"""Tokens of a sequence, or of the cache of one that decodes, unless told."""


class Job(Record, kw_only=True):
    """`batch` sequences in all; training takes them in micro-batches of `micro_batch` on each rank of `dp`.

    `sequence` tokens each are trained on or make up the prompt; decoding adds one token to a cache that
    holds `kv` with it. A prefill makes room for `kv`, where it is longer than the prompt.
    """

    task: Task
    batch: int = 1
    micro_batch: int = 1
    sequence: int = 0
    kv: int = 0
    weights: str = "bf16"
    activations: str = "bf16"
    cache: str = "bf16"
    gradients: str = "bf16"
    moments: str = "fp32"  # the two of Adam
    master: str = "fp32"  # the copy of the weights that the optimiser adds to; "" for none
    recompute: Recompute = Recompute.NONE
    attention_path: str = ""  # these four: words of `PATHS`
    products: str = ""
    widening: str = ""
    experts: str = ""

    def __post_init__(self) -> None:
        """Words become what they stand for: a word equals its task, and is another object. Raises
        `UnknownName`."""
        for name, kind in (("task", Task), ("recompute", Recompute)):
            word = getattr(self, name)
            if type(word) is not kind:
                if word not in tuple(kind):
                    raise UnknownName(name, str(word), map(str, kind), try_=f"--{name} {tuple(kind)[-1]}")
                force_setattr(self, name, kind(word))

    @property
    def new_tokens(self) -> int:
        """Of each sequence, in one step."""
        return 1 if self.task is Task.DECODE else self.sequence

    @property
    def before(self) -> int:
        """Cached tokens of each sequence that the new ones attend to."""
        return self.kv - 1 if self.task is Task.DECODE else 0

    @property
    def cached(self) -> int:
        """Tokens of each sequence that the cache has room for; training keeps none."""
        return 0 if self.task is Task.TRAIN else max(self.kv, self.new_tokens)


def check_job(job: Job) -> None:
    """Raises `UsageError` for a job that says too little or contradicts itself, `UnknownName` for a type."""
    kinds.SEQUENCES.checked(job.batch, "--batch")
    kinds.SEQUENCES.checked(job.micro_batch, "--micro-batch")
    length, option = (job.kv, "--kv") if job.task is Task.DECODE else (job.sequence, "--sequence")
    if not length:
        raise UsageError(
            f"{option} is not given",
            cause="a decoding step depends on the tokens in the cache"
            if job.task is Task.DECODE
            else f"the work of {job.task} depends on the tokens of a sequence",
            try_=f"{option} 4096",
        )
    kinds.TOKENS.checked(length, option)
    if job.kv:
        kinds.TOKENS.checked(job.kv, "--kv")
    for option in TYPES:
        check_dtype(getattr(job, option) or "fp32", option)
    for name, words in PATHS.items():
        if (word := getattr(job, name)) and word not in words:
            raise UnknownName("path", word, words, try_=f"--path {name.removesuffix('_path')}={words[0]}")
    _check_experts(job)
    if job.recompute is not Recompute.NONE and job.task is not Task.TRAIN:
        raise UsageError(
            f"{job.task} recomputes nothing",
            cause="only a backward pass needs what the forward pass worked out",
            try_="--task train, or leave --recompute out",
        )


def _check_experts(job: Job) -> None:
    """Raises `UsageError` for a path of experts that the task does not have."""
    possible: tuple[str, ...] = ()
    if job.task is not Task.TRAIN:
        possible = (CHOSEN, EVERY) if job.task is Task.DECODE else (EVERY, BLOCKS, OPERATORS)
    if job.experts and job.experts not in possible:
        raise UsageError(
            f"--path experts={job.experts} is no path of {job.task}",
            cause=f"it has {', '.join(possible) or 'none: tokens spread evenly'}",
            try_=f"--path experts={possible[0]}" if possible else "leave it out",
        )


def check_dtype(dtype: str, part: str) -> None:
    """Raises `UnknownName` for a word that is no data type of `part` of a step."""
    try:
        item_bytes(dtype)
    except UnknownName as error:
        raise UnknownName("dtype", error.name, error.known, try_=f"--type {part}=bf16") from None
