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

from trnbench_steps.plan.goal import Expected, Goal


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
