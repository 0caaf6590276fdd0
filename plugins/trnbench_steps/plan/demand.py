"""Layouts, and what serves a number of requests a second: replicas for prompts and tokens in turn, or apart.

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

from collections.abc import Callable, Iterator
from enum import StrEnum
from math import ceil, prod

from msgspec.structs import replace

from trnbench import Scope, System, UsageError
from trnbench.record import Record
from trnbench_steps.hbm import cache_bytes, logical_cores
from trnbench_steps.job import Job, Recompute, Task
from trnbench_steps.layout import Layout
from trnbench_steps.model import Model
from trnbench_steps.plan.composed import Composed, Refusal, Steps
from trnbench_steps.plan.goal import Expected, Goal

STAGES = (1, 2, 4, 8, 16)


def cores_of(system: System, lnc: int = 0) -> tuple[int, int]:
    """Logical cores of the system and of an instance of it; none of a system without them."""
    try:
        cores, _ = logical_cores(system, lnc)
    except UsageError:
        return 0, 0
    return cores, cores // system.size if system.instance.sizable else cores


def layouts(model: Model, task: Task, system: System) -> Iterator[Layout]:
    """Tensor degrees that are powers of two and divide the cores; the rest are replicas of the model.

    Of experts also those that lie whole on the tensor ranks. Training: sequence parallel, ZeRO-1, and stages
    of a pipeline, the fewest first. The rest of what people turn is next to one of these: `neighbours`.
    """
    cores, instance = cores_of(system)
    experts = max((kind.feed_forward.experts for kind in model.kinds), default=0)
    tp = 1
    while tp <= instance and instance % tp == 0:
        if task is Task.TRAIN:
            for pp in STAGES:
                if cores % (tp * pp) == 0:
                    yield Layout(tp=tp, pp=pp, dp=cores // (tp * pp), zero=1, sequence_parallel=tp > 1)
        else:
            yield Layout(tp=tp, dp=cores // tp)
            if experts and tp > 1 and experts % tp == 0:
                yield Layout(tp=tp, dp=cores // tp, ep=tp, expert_tp=1)
        tp *= 2


def neighbours(model: Model, layout: Layout, job: Job, system: System) -> Iterator[tuple[Layout, Job]]:
    """What differs in one thing that people turn, by one notch; replicas take the cores that are left.

    Degrees of tensor, context and pipeline parallelism twice or half as large, cores of a rank, experts cut
    or whole; in training also ZeRO, sequence parallelism, runs of layers, micro-batch and recomputation.
    """
    changes: list[dict[str, int | bool]] = [
        {name: size}
        for name in ("tp", "cp", "pp")
        for size in _notches(getattr(layout, name))
        if name != "pp" or job.task is Task.TRAIN or layout.pp > 1
    ]
    changes += [{"lnc": lnc} for lnc in _lnc(system, layout)]
    if any(kind.feed_forward.experts for kind in model.kinds):
        changes.append({"ep": 1, "expert_tp": 0} if layout.ep > 1 else {"ep": layout.tp, "expert_tp": 1})
    jobs: list[Job] = []
    if job.task is Task.TRAIN:
        changes += [{"zero": 1 - layout.zero}, {"sequence_parallel": not layout.sequence_parallel}]
        if layout.pp > 1:
            changes += [{"chunks": size} for size in _notches(layout.chunks)]
        jobs += [replace(job, micro_batch=size) for size in _notches(job.micro_batch)]
        jobs += [replace(job, recompute=each) for each in Recompute if each is not job.recompute]
    for change in changes:
        if (other := _filled(replace(layout, **change), system)) is not None:
            yield other, job
    for each in jobs:
        yield layout, each


def _notches(size: int) -> tuple[int, ...]:
    return (size * 2, size // 2) if size > 1 and size % 2 == 0 else (size * 2,)


def _lnc(system: System, layout: Layout) -> list[int]:
    """Other numbers of cores that a rank may have; 0 is the system's own."""
    values = map(int, system.costs.get("lnc", {}).get("values", ()))
    others = [0 if each == system.default_lnc else each for each in values]
    return [each for each in others if each != layout.lnc]


def _filled(layout: Layout, system: System) -> Layout | None:
    """With as many replicas as there is room for; None where it does not lie there."""
    cores, instance = cores_of(system, layout.lnc)
    ranks = prod((layout.tp, layout.cp, layout.pp))
    if layout.tp * layout.cp > instance or not cores or cores % ranks:
        return None
    within = layout.ep > 1
    return replace(
        layout,
        dp=cores // ranks,
        chunks=layout.chunks if layout.pp > 1 else 1,
        sequence_parallel=layout.sequence_parallel and layout.tp > 1,
        ep=layout.tp if within else 1,
        expert_tp=1 if within else 0,
    )


def words(layout: Layout) -> str:
    """`tp 32, pp 4, dp 8`: degrees above 1, and what else is not as usual."""
    degrees = [
        f"{name} {getattr(layout, name)}"
        for name in ("tp", "pp", "dp", "cp", "ep", "chunks")
        if getattr(layout, name) > 1
    ]
    if layout.lnc:
        degrees.append(f"lnc {layout.lnc}")
    return ", ".join(degrees) or "1 rank"


def turned(layout: Layout, job: Job) -> str:
    """What `words` leaves out: of training micro-batch, recomputation, ZeRO and sequence parallelism."""
    said = [] if job.weights == "bf16" else [job.weights]
    if job.task is Task.TRAIN:
        said += [f"micro-batch {job.micro_batch}"] if job.micro_batch > 1 else []
        said += [f"recompute {job.recompute}"] if job.recompute is not Recompute.SELECTIVE else []
        said += [] if layout.zero else ["zero 0"]
        said += ["no sequence parallel"] if layout.tp > 1 and not layout.sequence_parallel else []
    return ", ".join(said)


class Way(StrEnum):
    """Where prompts are taken."""

    SHARED = "shared"
    APART = "apart"


class Service(Record, kw_only=True):
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

    def counts(prompt_s: float, step_s: float) -> tuple[float, float]:
        """A request keeps a replica for its prompt, and for its share of the steps."""
        return _busy(goal, prompt_s + steps * step_s / batch, replicas), 0.0

    return _service(
        Way.SHARED, counts, prompt, step, token=step.plus(prompt, batch / steps), first=prompt.plus(step)
    )


class Prompts(Record, kw_only=True):
    """A prompt on each of `replicas` of a system, and seconds until its cache is where it is decoded."""

    time: Expected
    replicas: int
    moved_s: float
    words: str


def apart(goal: Goal, prompts: Prompts, step: Expected, batch: int, replicas: int) -> Service:
    """By systems that take prompts, and others that decode `batch` requests on each of `replicas`."""
    steps, moved_s = goal.output - 1, prompts.moved_s

    def counts(prompt_s: float, step_s: float) -> tuple[float, float]:
        return _busy(goal, steps * step_s / batch, replicas), _busy(goal, prompt_s, prompts.replicas)

    first = prompts.time.plus(Expected(time_s=moved_s, low_s=moved_s, high_s=moved_s))
    return _service(Way.APART, counts, prompts.time, step, token=step, first=first, prompts_on=prompts.words)


def _service(
    way: Way,
    counts: Callable[[float, float], tuple[float, float]],
    prompt: Expected,
    step: Expected,
    *,
    token: Expected,
    first: Expected,
    prompts_on: str = "",
) -> Service:
    """`counts`: systems that decode and that take prompts, by the seconds of a prompt and of a step."""
    exact = counts(prompt.time_s, step.time_s)
    banded = prompt.banded and step.banded
    return Service(
        way=way,
        decoding=ceil(exact[0]),
        prompting=ceil(exact[1]),
        exact=sum(exact),
        least=sum(map(ceil, counts(prompt.low_s, step.low_s))) if banded else 0,
        most=sum(map(ceil, counts(prompt.high_s, step.high_s))) if banded else 0,
        token=token,
        first=first,
        prompts_on=prompts_on,
    )


def _busy(goal: Goal, seconds: float, replicas: int) -> float:
    """Systems of `replicas` that the demand keeps busy, where each request takes `seconds` of one of them."""
    return goal.requests_per_s * seconds / (replicas * goal.utilisation)


class Serving:
    """Of one goal; a prompt is put together once for a layout, whatever the batch that decodes."""

    def __init__(self, goal: Goal, steps: Steps) -> None:
        self.goal, self.steps = goal, steps
        self._prompts: dict[tuple[str, str], Prompts | None] = {}

    def ways(self, system: System, weights: str) -> tuple[str, ...]:
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
        moved_s = cache_bytes(goal.model, goal.prompt, goal.cache) / rate
        offers: list[tuple[tuple[int, float], Prompts]] = []
        for layout in layouts(goal.model, goal.task, system):
            time = self.first(system, layout, weights)
            if not isinstance(time, Expected):
                continue
            verdict = time.plus(Expected(time_s=moved_s, low_s=moved_s, high_s=moved_s)).within(goal.ttft_s)
            if verdict is not None:
                prompts = Prompts(time=time, replicas=layout.dp, moved_s=moved_s, words=words(layout))
                offers.append(((verdict.place, time.time_s / layout.dp), prompts))
        return min(offers, key=lambda each: each[0])[1] if offers else None
