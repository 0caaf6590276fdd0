"""How a layout serves a demand: prompts of its own, or of other instances of the same kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.facts.fact import Scope
from trnbench_steps.job import Job, Task
from trnbench_steps.layout import Layout
from trnbench_steps.memory import cache_bytes
from trnbench_steps.plan.composed import Composed, Refusal, Steps
from trnbench_steps.plan.demand import Prompts, Service, Way, apart, shared
from trnbench_steps.plan.goal import Expected, Goal
from trnbench_steps.plan.layouts import layouts, words

if TYPE_CHECKING:
    from trnbench.generation import System


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
