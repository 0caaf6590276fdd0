"""The least a step can take: what it reads over the documented HBM, what it multiplies over the clocks."""

from __future__ import annotations

import msgspec

from trnbench.facts.fact import Scope
from trnbench.generation import System
from trnbench.kernels.work import item_bytes
from trnbench.peaks import engine_rate
from trnbench_steps.division import Division
from trnbench_steps.flops import step_flops
from trnbench_steps.hbm import logical_cores
from trnbench_steps.job import Task
from trnbench_steps.memory import memory
from trnbench_steps.weight import Part, Weight


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds; 0 where no document gives what it follows from."""

    memory_s: float
    engine_s: float

    @property
    def time_s(self) -> float:
        return max(self.memory_s, self.engine_s)


def floor(division: Division, system: System) -> Floor:
    """What no step of `division` on `system` is faster than.

    Memory: the weights that one token meets and the cache of all its sequences, of the ranks of a device,
    over the highest HBM rate that a document gives it; of experts those of one token, for several may choose
    the same. A step of training is bound by its operations alone. Engines: the step's FLOP over the clocks of
    all ranks' cores, in the type of its activations. Raises `UsageError` as `logical_cores` does.
    """
    job, layout = division.job, division.layout
    _, per_device = logical_cores(system, layout.lnc)
    bandwidth = _hbm(system)
    read = 0.0 if job.task is Task.TRAIN else max(_read(division, stage) for stage in range(layout.pp))
    rate = engine_rate(system, job.activations)
    cores = layout.ranks * (system.cores_per_device // per_device)
    flops = step_flops(division.model, job).all
    return Floor(
        memory_s=read * min(per_device, layout.ranks) / bandwidth if bandwidth else 0.0,
        engine_s=flops / (rate.value * cores) if rate is not None else 0.0,
    )


def read_bytes(division: Division) -> float:
    """What all ranks read once in a step of inference, as for the floor; 0 of training."""
    if division.job.task is Task.TRAIN:
        return 0.0
    each = division.layout.ranks // division.layout.pp
    return each * sum(_read(division, stage) for stage in range(division.layout.pp))


def routed_bytes(division: Division) -> float:
    """What the rank of the fullest stage reads, of experts as many as all tokens may choose."""
    return max(_read(division, stage, division.tokens) for stage in range(division.layout.pp))


def _hbm(system: System) -> float:
    subject = system.subject(Scope.DEVICE)
    found = system.book.select(subject, "hbm_bandwidth", scope=Scope.DEVICE)
    return max((fact.value for fact in found if fact.value is not None), default=0.0)


def _read(division: Division, stage: int, tokens: int = 1) -> float:
    """Bytes that a rank of `stage` reads once in a step of inference, for experts of `tokens`."""
    model, job = division.model, division.job
    elements = 0.0
    for kind, count in division.stages[stage].items():
        times = 1 if model.shared_layers else count
        elements += times * sum(
            _met(division, weight, kind, tokens) for weight in model.kinds[kind].weights(model.hidden)
        )
    if stage == division.layout.pp - 1 and model.head:
        elements += division.share(model.head_weight)
    cached = memory(division, stage).cache if job.task is Task.DECODE else 0.0
    return elements * item_bytes(job.weights) + cached


def _met(division: Division, weight: Weight, kind: int, tokens: int) -> float:
    """Parameters of a rank that `tokens` meet; with experts on other ranks one may meet none of a rank's."""
    if not weight.product:
        return 0.0
    share = float(division.share(weight, kind))
    if weight.part is not Part.EXPERTS:
        return share
    if division.layout.ep > 1 and tokens == 1:
        return 0.0
    return share * min(weight.used * tokens, weight.copies) / weight.copies
