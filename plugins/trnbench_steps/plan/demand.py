"""What serves a number of requests a second: replicas that take prompts and tokens in turn, or apart.

*Shared*: each replica has `batch` requests at once. In a round it takes a prompt for each of them, and
output - 1 steps for all: batch · prompt + (output - 1) · step seconds. A token waits for the prompts between
two steps: step + batch · prompt / (output - 1) in the mean. A first token waits for the step under way, and
its prompt.

*Apart*: some instances take prompts, others decode (Zhong et al. 2024, DistServe). A first token waits for
its prompt, and for its cache on the network: at the documented rate of an instance, which it has to itself.

Requests come evenly, and replicas are at work for the stated share of the time: nobody waits in a queue. Each
token takes as long as the last one, with the cache full.
"""

from __future__ import annotations

from enum import Enum
from math import ceil

import msgspec

from trnbench import Scope, System
from trnbench_steps.job import Job, Task
from trnbench_steps.layout import Layout
from trnbench_steps.memory import cache_bytes
from trnbench_steps.plan.composed import Composed, Refusal, Steps
from trnbench_steps.plan.goal import Expected, Goal
from trnbench_steps.plan.layouts import layouts, words


class Way(str, Enum):
    """Where prompts are taken."""

    SHARED = "shared"
    APART = "apart"

    def __str__(self) -> str:
        return self.value


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """How many systems serve the demand: `decoding` ones, and `prompting` ones where these are apart, which
    lie on `layout` words. `least`, `most`: systems by the ends of the bands (0: no band). `exact`: systems
    before they are made whole.

    `token`: what a token takes; `first`: what the first one takes.
    """

    way: Way
    decoding: int
    prompting: int
    exact: float
    least: int
    most: int
    token: Expected
    first: Expected
    prompts_on: str = ""

    @property
    def systems(self) -> int:
        return self.decoding + self.prompting


def shared(goal: Goal, prompt: Expected, step: Expected, batch: int, replicas: int) -> Service:
    """By replicas of a system, `replicas` of them with `batch` requests each, that do both."""
    steps = goal.output - 1

    def systems(prompt_s: float, step_s: float) -> float:
        """A request keeps a replica for its prompt, and for its share of the steps."""
        return _busy(goal, prompt_s + steps * step_s / batch, replicas)

    exact = systems(prompt.time_s, step.time_s)
    banded = prompt.banded and step.banded
    return Service(
        way=Way.SHARED,
        decoding=ceil(exact),
        prompting=0,
        exact=exact,
        least=ceil(systems(prompt.low_s, step.low_s)) if banded else 0,
        most=ceil(systems(prompt.high_s, step.high_s)) if banded else 0,
        token=step.plus(prompt, batch / steps),
        first=prompt.plus(step),
    )


class Prompts(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt on each of `replicas` of a system, and seconds until its cache is where it is decoded."""

    time: Expected
    replicas: int
    moved_s: float
    words: str


def apart(goal: Goal, prompts: Prompts, step: Expected, batch: int, replicas: int) -> Service:
    """By systems that take prompts, and others that decode `batch` requests on each of `replicas`."""
    steps = goal.output - 1

    def decoding(step_s: float) -> float:
        return _busy(goal, steps * step_s / batch, replicas)

    def prompting(prompt_s: float) -> float:
        return _busy(goal, prompt_s, prompts.replicas)

    prompt = prompts.time
    banded = prompt.banded and step.banded
    return Service(
        way=Way.APART,
        decoding=ceil(decoding(step.time_s)),
        prompting=ceil(prompting(prompt.time_s)),
        exact=decoding(step.time_s) + prompting(prompt.time_s),
        least=ceil(decoding(step.low_s)) + ceil(prompting(prompt.low_s)) if banded else 0,
        most=ceil(decoding(step.high_s)) + ceil(prompting(prompt.high_s)) if banded else 0,
        token=step,
        first=prompt.plus(Expected(time_s=prompts.moved_s, low_s=prompts.moved_s, high_s=prompts.moved_s)),
        prompts_on=prompts.words,
    )


def _busy(goal: Goal, seconds: float, replicas: int) -> float:
    """Systems of `replicas` that the demand keeps busy, where each request takes `seconds` of one of them."""
    return goal.requests_per_s * seconds / (replicas * goal.utilisation)


class Serving:
    """Of one goal; a prompt is put together once for a layout, whatever the batch that decodes."""

    def __init__(self, goal: Goal, steps: Steps) -> None:
        self.goal, self.steps = goal, steps
        self._prompts: dict[tuple[str, str], Prompts | None] = {}

    def ways(self, system: System, layout: Layout, weights: str) -> tuple[str, ...]:
        """That are possible; one without a name where no demand is stated."""
        if not self.goal.serves:
            return ("",)
        return (Way.SHARED, Way.APART) if self._elsewhere(system, weights) is not None else (Way.SHARED,)

    def first(self, system: System, layout: Layout, weights: str) -> Expected | Refusal | None:
        """Until the first token of a prompt on every replica; None where none is asked for."""
        goal = self.goal
        if goal.task is Task.TRAIN or not goal.prompt:
            return None
        found = self.steps.composed(layout, goal.prefill(weights, layout.dp), system)
        return found if isinstance(found, Refusal) else found.time

    def service(self, composed: Composed, way: str) -> Service | Refusal:
        """By as many of the system as the goal asks for."""
        division, system = composed.placed.division, composed.placed.system
        layout, job = division.layout, division.job
        batch = job.batch // layout.dp
        if way == Way.APART:
            prompts = self._elsewhere(system, job.weights)
            assert prompts is not None
            return apart(self.goal, prompts, composed.time, batch, layout.dp)
        prompt = self.first(system, layout, job.weights)
        assert prompt is not None
        if isinstance(prompt, Refusal):
            return prompt
        return shared(self.goal, prompt, composed.time, batch, layout.dp)

    def _elsewhere(self, system: System, weights: str) -> Prompts | None:
        """The layout that takes most prompts a second and keeps the limit most surely; None where no document
        gives the network, or no layout takes any."""
        key = (system.name, weights)
        if key not in self._prompts:
            self._prompts[key] = self._best(system, weights)
        return self._prompts[key]

    def _best(self, system: System, weights: str) -> Prompts | None:
        goal, rate = self.goal, system.fact(Scope.INSTANCE, "efa_bandwidth")
        if not rate:
            return None
        moved_s = cache_bytes(goal.model, goal.prompt, Job(task=Task.DECODE).cache) / rate
        offers: list[tuple[tuple[int, float], Prompts]] = []
        for layout in layouts(goal.model, goal.task, system):
            time = self.first(system, layout, weights)
            if not isinstance(time, Expected):
                continue
            verdict = time.within(goal.ttft_s)
            if verdict is not None:
                prompts = Prompts(time=time, replicas=layout.dp, moved_s=moved_s, words=words(layout))
                offers.append(((verdict.place, time.time_s / layout.dp), prompts))
        return min(offers, key=lambda each: each[0])[1] if offers else None
