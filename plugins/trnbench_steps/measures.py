"""What a step's time means: tokens, utilisation, losses, and where another limit takes over."""

from __future__ import annotations

from trnbench import Scope, System, item_bytes
from trnbench.peaks import engine_rate
from trnbench.record import Record
from trnbench_steps.division import Division
from trnbench_steps.flops import Flops, forward, routed_bytes, training
from trnbench_steps.hbm import cache_bytes, logical_cores
from trnbench_steps.job import Job, Task
from trnbench_steps.model import Model
from trnbench_steps.step_parts import StepTime

FORMULAS = {
    "tokens_per_s": "new tokens of all sequences / time of the step",
    "mfu": "FLOP of the model, what causality hides counted and recomputation not (PaLM, appendix B) / (time "
    "· engine bound of all ranks in the type of the activations)",
    "mbu": "bytes of the matrices that the tokens meet, of experts those that they are routed to, and of the "
    "cache, on the ranks of a device / (time · documented HBM rate of a device)",
    "compute_bound_batch": "sequences from which the FLOP of a token over the engine bound take longer than "
    "weights and cache over the HBM rate",
    "attention_length": "tokens from which attention takes more FLOP than the matrices of the layers",
}
LONGEST = 1 << 24
"""Tokens up to which a crossover is looked for."""


class Loss(Record):
    """A part, and the step without it."""

    part: str
    seconds: float
    without_s: float


class Measures(Record, kw_only=True):
    """By `FORMULAS`; None where a document lacks a term, or there is no such crossover. `losses`: all parts,
    the largest first."""

    tokens_per_s: float
    sequences_per_s: float
    mfu: float | None
    mbu: float | None
    losses: tuple[Loss, ...]
    compute_bound_batch: int | None
    attention_length: int | None


def measures(division: Division, system: System, time: StepTime) -> Measures:
    """Of a step of `division` on `system` that takes `time`. Raises `UsageError` as `logical_cores` does."""
    job, seconds = division.job, time.time_s
    peak, rate = _peak(division, system), system.fact(Scope.DEVICE, "hbm_bandwidth")
    return Measures(
        tokens_per_s=job.batch * job.new_tokens / seconds,
        sequences_per_s=job.batch / seconds,
        mfu=model_flops(division.model, job).all / (seconds * peak) if peak else None,
        mbu=routed_bytes(division, logical_cores(system, division.layout.lnc)[1]) / (seconds * rate)
        if rate and job.task is not Task.TRAIN
        else None,
        losses=tuple(
            Loss(part, spent, seconds - spent)
            for part, spent in sorted(time.parts.items(), key=lambda each: -each[1])
        ),
        compute_bound_batch=_compute_bound_batch(division, system, peak, rate)
        if peak and rate and job.task is Task.DECODE
        else None,
        attention_length=attention_length(division.model),
    )


def model_flops(model: Model, job: Job) -> Flops:
    """Of one step on all ranks, as published utilisations count them."""
    if job.task is Task.TRAIN:
        return training(model, job.sequence, masked=False).times(job.batch)
    return forward(model, job.new_tokens, job.before, predicted=1, masked=False).times(job.batch)


def attention_length(model: Model) -> int | None:
    """None where states of linear layers or windows keep attention below, and beyond 16 million tokens."""

    def more(length: int) -> bool:
        spent = forward(model, length, predicted=0)
        return spent.attention > spent.projections + spent.mlp + spent.experts

    if not more(LONGEST):
        return None
    low, high = 1, LONGEST
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if more(middle) else (middle + 1, high)
    return low


def _per_device(division: Division, system: System) -> int:
    """Ranks of a device that has as many as fit."""
    _, each = logical_cores(system, division.layout.lnc)
    return min(each, division.layout.ranks)


def _peak(division: Division, system: System) -> float:
    """FLOP/s that the clocks allow all ranks; 0 where no document says."""
    one = engine_rate(system, division.job.activations)
    cores, _ = logical_cores(system, division.layout.lnc)
    physical = system.devices * system.cores_per_device // cores
    return one.value * division.layout.ranks * physical if one else 0.0


def _compute_bound_batch(division: Division, system: System, peak: float, rate: float) -> int | None:
    """Weights are read once for all sequences, a cache for each: engines catch up if that is the lesser."""
    model, job = division.model, division.job
    devices = division.layout.ranks / _per_device(division, system)
    weights = model_weights(model) * item_bytes(job.weights) / (rate * devices)
    cache = cache_bytes(model, job.kv, job.cache) / (rate * devices)
    token = forward(model, 1, job.before, predicted=1).all / peak
    return int(weights / (token - cache)) + 1 if token > cache else None


def model_weights(model: Model) -> int:
    """Parameters that a batch of tokens meets: all matrices of layers and head."""
    layers = sum(
        count * sum(weight.parameters for weight in layer.weights(model.hidden) if weight.product)
        for layer, count in model.runs()
    )
    return layers + (model.head_weight.parameters if model.head else 0)
