"""What a rank does in a layer's attention, from its projections to what they add up to."""

from __future__ import annotations

from trnbench.kernels.work import item_bytes
from trnbench_steps.attention import Attention, AttentionKind
from trnbench_steps.division import Division
from trnbench_steps.job import Task
from trnbench_steps.layout import Axis
from trnbench_steps.operators import (
    Convolution,
    Elementwise,
    Exchange,
    Mixing,
    Operator,
    Product,
    Recurrence,
)
from trnbench_steps.weight import Cut, Weight

GATHER, REDUCE = "all_gather", "all_reduce"


def mixer_operators(division: Division, kind: int) -> list[Operator]:
    """Of one layer of `kind`, for the tokens a rank works on at once; what is added up after it left out.

    Keys and values of the other parts of a sequence are gathered along the context ranks (Llama Team 2024,
    section 3.3.2); decoding, each of them attends to its part of the cache and their results are added up.
    """
    attention = division.model.kinds[kind].attention
    weights = [weight for weight in attention.weights(division.model.hidden) if weight.product]
    made: list[Operator] = [_product(division, kind, w) for w in weights if w.cut is not Cut.INPUTS]
    made += _rotation(division, kind)
    made += _context(division, kind, before=True)
    if attention.kind is AttentionKind.LINEAR:
        made += [_convolution(division, kind), _recurrence(division, kind)]
    else:
        made.append(_mixing(division, kind))
    made += _context(division, kind, before=False)
    if attention.gated:
        heads = division.heads[kind].queries
        made.append(
            Elementwise(name="gate", rows=division.tokens, width=heads * attention.value_dim, operands=2)
        )
    made += [_product(division, kind, w) for w in weights if w.cut is Cut.INPUTS]
    return made


def _product(division: Division, kind: int, weight: Weight) -> Product:
    """Over a cache, what rises from a compressed vector is applied to queries and results, head by head."""
    attention, heads = division.model.kinds[kind].attention, division.heads[kind].queries
    share = division.share(weight, kind)
    if compressed(division, attention) and weight.name in ("key up", "value up"):
        small, large = attention.latent_rank, weight.outputs // weight.units
        inputs, outputs = (large, small) if weight.name == "key up" else (small, large)
        return Product(name=weight.name, tokens=division.tokens, inputs=inputs, outputs=outputs, copies=heads)
    if weight.cut is Cut.INPUTS:
        return Product(
            name=weight.name, tokens=division.tokens, inputs=share // weight.outputs, outputs=weight.outputs
        )
    return Product(
        name=weight.name, tokens=division.tokens, inputs=weight.inputs, outputs=share // weight.inputs
    )


def compressed(division: Division, attention: Attention) -> bool:
    """Whether attention works on the compressed vectors: over a cache (DeepSeek-V2, section 2.1.2)."""
    return attention.kind is AttentionKind.LATENT and division.job.before > 0


def _rotation(division: Division, kind: int) -> list[Operator]:
    model, heads = division.model, division.heads[kind]
    attention = model.kinds[kind].attention
    if model.positions or attention.kind is AttentionKind.LINEAR:
        return []
    wide = attention.rope_dim or attention.head_dim
    keys = 1 if attention.kind is AttentionKind.LATENT else heads.keys
    return [Elementwise(name="rotation", rows=division.tokens, width=(heads.queries + keys) * wide)]


def _mixing(division: Division, kind: int) -> Mixing:
    attention, heads, job = division.model.kinds[kind].attention, division.heads[kind], division.job
    key, value, kept = attention.head_dim + attention.rope_dim, attention.value_dim, heads.keys
    if compressed(division, attention):
        key, value, kept = attention.latent_rank + attention.rope_dim, attention.latent_rank, 1
    return Mixing(
        name="attention",
        sequences=division.sequences,
        tokens=division.tokens // division.sequences,
        before=job.before,
        heads=heads.queries,
        kv_heads=kept,
        key_dim=key,
        value_dim=value,
        window=attention.window,
        causal=attention.causal,
        pairs=attention.pairs(job.before, job.new_tokens) / division.layout.cp,
    )


def _convolution(division: Division, kind: int) -> Convolution:
    """Of queries, keys and values."""
    attention, heads = division.model.kinds[kind].attention, division.heads[kind]
    return Convolution(
        name="convolution",
        sequences=division.sequences,
        tokens=division.tokens // division.sequences,
        channels=2 * heads.keys * attention.head_dim + heads.queries * attention.value_dim,
        taps=attention.convolution,
    )


def _recurrence(division: Division, kind: int) -> Recurrence:
    attention, heads = division.model.kinds[kind].attention, division.heads[kind]
    return Recurrence(
        name="attention",
        sequences=division.sequences,
        tokens=division.tokens // division.sequences,
        heads=heads.queries,
        key_dim=attention.head_dim,
        value_dim=attention.value_dim,
        before=division.job.task is Task.DECODE,
    )


def _context(division: Division, kind: int, *, before: bool) -> list[Operator]:
    """What the ranks that share a sequence send each other around its attention."""
    decoding, layout = division.job.task is Task.DECODE, division.layout
    attention, heads = division.model.kinds[kind].attention, division.heads[kind]
    if layout.cp == 1 or attention.kind is AttentionKind.LINEAR or decoding is before:
        return []
    item = item_bytes(division.job.activations)
    if decoding:
        width = heads.queries * (attention.latent_rank or attention.value_dim)
        return [
            Exchange(
                name="context", collective=REDUCE, axis=Axis.CONTEXT, size=division.tokens * width * item
            )
        ]
    width = heads.keys * (attention.head_dim + attention.value_dim)
    if attention.kind is AttentionKind.LATENT:
        width = attention.latent_rank + attention.rope_dim
    size = division.sequences * division.job.new_tokens * width * item
    return [Exchange(name="context", collective=GATHER, axis=Axis.CONTEXT, size=size)]
