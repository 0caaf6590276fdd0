"""Floating-point operations of a model: what its matrices and its attention multiply and add.

Each parameter of a matrix product takes a multiplication and an addition for each token (Kaplan et al.
2020, section 2.1); each pair of tokens that attend takes 2 · features of a key and 2 · features of a value in
each head. The backward pass takes twice the forward one (the same section). Normalisations, activations,
softmax and rotations are not counted, as in published utilisations.
"""

from __future__ import annotations

import msgspec

from trnbench_steps.attention import Attention, AttentionKind
from trnbench_steps.job import Job, Recompute, Task
from trnbench_steps.layer import Layer
from trnbench_steps.model import Model
from trnbench_steps.weight import Part

BACKWARD = 2
"""Gradients of the inputs and of the weights: one product of the same size each."""


class Flops(msgspec.Struct, frozen=True, kw_only=True):
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
        Recompute.FULL: msgspec.structs.replace(once, head=0, embedding=0),
    }[job.recompute]
    return training(model, tokens).plus(again).times(job.batch)
