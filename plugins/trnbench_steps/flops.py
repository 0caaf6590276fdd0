"""Floating-point operations of a model: what its matrices and its attention multiply and add.

Each parameter of a matrix product takes a multiplication and an addition for each token (Kaplan et al.
2020, section 2.1); each pair of tokens that attend takes 2 · features of a key and 2 · features of a value in
each head. The backward pass takes twice the forward one (the same section). Normalisations, activations,
softmax and rotations are not counted, as in published utilisations.
"""

from __future__ import annotations

from msgspec.structs import replace

from trnbench import Scope, System, item_bytes
from trnbench.peaks import engine_rate
from trnbench.record import Record
from trnbench_steps.attention import Attention, AttentionKind
from trnbench_steps.division import Division
from trnbench_steps.hbm import logical_cores, memory, mixtures
from trnbench_steps.job import Job, Recompute, Task
from trnbench_steps.layer import Layer
from trnbench_steps.model import Model
from trnbench_steps.weight import Part, Weight

BACKWARD = 2
"""Gradients of the inputs and of the weights: one product of the same size each."""


class Flops(Record, kw_only=True):
    """FLOP of some tokens, by what they are spent on."""

    projections: int = 0  # the matrices of attention
    attention: int = 0  # between tokens
    mlp: int = 0  # dense networks and shared experts
    experts: int = 0  # routed ones, with their router
    head: int = 0
    embedding: int = 0  # a projection of the embedding, where there is one

    @property
    def all(self) -> int:
        return sum(getattr(self, name) for name in self.__struct_fields__)

    def times(self, factor: int) -> Flops:
        return Flops(**{name: getattr(self, name) * factor for name in self.__struct_fields__})

    def plus(self, other: Flops) -> Flops:
        return Flops(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


_FIELD = {
    Part.EMBEDDING: "embedding",
    Part.ATTENTION: "projections",
    Part.MLP: "mlp",
    Part.EXPERTS: "experts",
    Part.ROUTER: "experts",
    Part.HEAD: "head",
}


def forward(
    model: Model, tokens: int, before: int = 0, *, predicted: int | None = None, masked: bool = True
) -> Flops:
    """FLOP of one sequence's forward pass over `tokens` new tokens after `before` cached ones.

    `predicted` of them get scores of the vocabulary, all unless said: a prefill predicts one. Without
    `masked`, what causality hides is counted as well.
    """
    total = Flops()
    for layer, count in model.runs():
        total = total.plus(_layer(layer, model.hidden, tokens, before, masked=masked).times(count))
    scored = tokens if predicted is None else predicted
    head = model.head_weight.flops_per_token * scored if model.head else 0
    before_first = sum(weight.flops_per_token for weight in model.before()) * tokens
    return total.plus(Flops(head=head, embedding=before_first))


def training(model: Model, tokens: int, *, masked: bool = True) -> Flops:
    """FLOP of forward and backward pass over one sequence of `tokens`, nothing recomputed.

    Without `masked` and for a dense model this is PaLM's 6·N + 12·L·H·Q·T a token (appendix B).
    """
    return forward(model, tokens, masked=masked).times(1 + BACKWARD)


def _layer(layer: Layer, hidden: int, tokens: int, before: int, *, masked: bool) -> Flops:
    spent = dict.fromkeys(_FIELD.values(), 0)
    for weight in layer.weights(hidden):
        if weight.product:
            spent[_FIELD[weight.part]] += weight.flops_per_token * tokens
    return Flops(**spent, attention=between_tokens(layer.attention, tokens, before, masked=masked))


def between_tokens(attention: Attention, tokens: int, before: int = 0, *, masked: bool = True) -> int:
    """FLOP of scores and of what they weigh, for `tokens` new tokens after `before`.

    Latent attention over a cache works on the compressed vectors (DeepSeek-V2, section 2.1.2): a key is
    `latent_rank + rope_dim` wide and a value `latent_rank`; what is projected for that costs what the
    projections of keys and values would. Linear attention (gated delta rule, Yang et al. 2024, equation
    10) decays a state of `head_dim × value_dim`, reads it, corrects it by an outer product, and reads it
    again: 7 operations for each element of it; its convolution takes 2 for each of its taps.
    """
    if attention.kind is AttentionKind.LINEAR:
        state = attention.heads * attention.head_dim * attention.value_dim
        channels = 2 * attention.kv_heads * attention.head_dim + attention.heads * attention.value_dim
        return tokens * (7 * state + 2 * attention.convolution * channels)
    pairs = attention.pairs(before, tokens, masked=masked)
    if attention.kind is AttentionKind.LATENT:
        if before:
            return 2 * pairs * attention.heads * (2 * attention.latent_rank + attention.rope_dim)
        return 2 * pairs * attention.heads * (attention.head_dim + attention.rope_dim + attention.value_dim)
    return 2 * pairs * attention.heads * (attention.head_dim + attention.value_dim)


def step_flops(model: Model, job: Job) -> Flops:
    """FLOP of one step of `job` on all ranks together; recomputation included, padding not.

    Full recomputation is one more forward pass of the layers, selective one more of what is between tokens
    (Korthikanti et al. 2022, section 5).
    """
    tokens, before = job.new_tokens, job.before
    if job.task is not Task.TRAIN:
        return forward(model, tokens, before, predicted=1).times(job.batch)
    once = forward(model, tokens)
    again = {
        Recompute.NONE: Flops(),
        Recompute.SELECTIVE: Flops(attention=once.attention),
        Recompute.FULL: replace(once, head=0, embedding=0),
    }[job.recompute]
    return training(model, tokens).plus(again).times(job.batch)


def floor_s(division: Division, system: System) -> float:
    """Seconds that no step of `division` on `system` is faster than; 0 where no document gives any.

    Memory: the weights that one token meets and the cache of all its sequences, of the ranks of a device,
    over the highest HBM rate that a document gives it; of experts those of one token, for several may choose
    the same. A step of training is bound by its operations alone. Engines: the step's FLOP over the clocks of
    all ranks' cores, in the type of its activations. Raises `UsageError` as `logical_cores` does.
    """
    job, layout = division.job, division.layout
    _, per_device = logical_cores(system, layout.lnc)
    bandwidth = _hbm(system)
    read = 0.0 if job.task is Task.TRAIN else _device_bytes(division, per_device, 1)
    rate = engine_rate(system, job.activations)
    cores = layout.ranks * (system.cores_per_device // per_device)
    flops = step_flops(division.model, job).all
    memory_s = read / bandwidth if bandwidth else 0.0
    return max(memory_s, flops / (rate.value * cores) if rate is not None else 0.0)


def read_bytes(division: Division) -> float:
    """What all ranks read once in a step of inference, as for the floor; 0 of training."""
    if division.job.task is Task.TRAIN:
        return 0.0
    each = division.layout.ranks // division.layout.pp
    return each * sum(_read(division, stage) for stage in range(division.layout.pp))


def routed_bytes(division: Division, per_device: int) -> float:
    """What the ranks of the device that reads most read, of experts as many as all tokens may choose."""
    return _device_bytes(division, per_device, division.tokens)


def _device_bytes(division: Division, per_device: int, tokens: int) -> float:
    read = [_read(division, stage, tokens) for stage in range(division.layout.pp)]
    return max(
        sum(read[stage] * count for stage, count in mixture) for mixture in mixtures(division, per_device)
    )


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
