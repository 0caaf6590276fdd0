"""One layout on one system: what a step takes there, what it serves and costs; or why it is refused."""

from __future__ import annotations

import shlex

import msgspec

from trnbench.results.nearness import Nearest
from trnbench_steps.job import Job
from trnbench_steps.layout import Layout
from trnbench_steps.plan.composed import Why
from trnbench_steps.plan.demand import Service
from trnbench_steps.plan.goal import Expected, Within
from trnbench_steps.plan.layouts import turned, words
from trnbench_steps.plan.price import Price


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """`batches` that the same reason refuses on this layout."""

    system: str
    layout: str
    batches: tuple[int, ...]
    why: Why
    reason: str


class Option(msgspec.Struct, frozen=True, kw_only=True):
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


def command(named: str, option: Option) -> str:
    """What one types to see the option's step with all its parts."""
    return step_command(named, option.system, option.layout, option.job)


TYPES = ("weights", "activations", "cache", "gradients", "moments", "master")


def step_command(named: str, system: str, layout: Layout, job: Job) -> str:
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
    return shlex.join(typed)
