"""What a rank keeps of the tokens it works on, in elements of the activations' type."""

from __future__ import annotations

from fractions import Fraction

from trnbench_steps.attention import AttentionKind
from trnbench_steps.division import Division
from trnbench_steps.job import Recompute


def kept_per_layer(division: Division, kind: int, recompute: Recompute) -> Fraction:
    """Elements that a layer keeps of one micro-batch for its backward pass.

    The inputs of everything that has a gradient of its own: of normalisations and matrix products, and the
    queries, keys, values and scores of attention. For GPT without dropout these are the 32·s·b·h + 2·a·s²·b
    bytes that Korthikanti et al. 2022 count in section 4.1 next to dropout's masks; outside of the cut parts
    they are cut by sequence parallelism alone (section 4.2). A window bounds the scores; experts keep what is
    routed to them, evenly spread.
    """
    model, layout = division.model, division.layout
    layer, tokens, hidden = model.kinds[kind], division.tokens, model.hidden
    along = layout.tp if layout.sequence_parallel else 1
    if recompute is Recompute.FULL:
        return Fraction(tokens * hidden, along)
    outside = layer.norms * hidden + hidden * (1 if layer.parallel else 2)
    attention = layer.attention
    if attention.kind is AttentionKind.LATENT:
        outside += attention.latent_rank + attention.rope_dim + attention.query_rank
    inside = mixer_elements(division, kind)
    if recompute is Recompute.NONE and attention.kind is not AttentionKind.LINEAR:
        inside += division.heads[kind].queries * _seen(division, kind)
    network = layer.feed_forward
    inner = 3 if network.gated else 2
    per_token = Fraction(outside, along) + inside + Fraction(inner * network.width, layout.tp)
    return tokens * (per_token + _routed(division, kind))


def mixer_elements(division: Division, kind: int) -> int:
    """Elements of a token inside attention: queries, keys, values and what they give, of a rank's heads."""
    attention, heads = division.model.kinds[kind].attention, division.heads[kind]
    if attention.kind is AttentionKind.LINEAR:
        # Queries, keys, values before and after the convolution; the gate, what comes out, and normalised.
        mixed = 2 * heads.keys * attention.head_dim + heads.queries * attention.value_dim
        return 2 * mixed + 3 * heads.queries * attention.value_dim
    wide = attention.head_dim + attention.rope_dim
    found = heads.queries * (wide + attention.value_dim) + heads.keys * (wide + attention.value_dim)
    return found + (heads.queries * attention.value_dim if attention.gated else 0)


def _seen(division: Division, kind: int) -> int:
    """Scores of a token in one head: of all tokens of the sequence, or of its window."""
    length, window = division.job.new_tokens, division.model.kinds[kind].attention.window
    return min(length, window) if window else length


def _routed(division: Division, kind: int) -> Fraction:
    """Elements of a token in its experts.

    The tokens of a stage go to all its ranks, evenly spread: a rank has expert_tp / tp copies of each of
    its own for each expert that a token meets.
    """
    network, layout = division.model.kinds[kind].feed_forward, division.layout
    inner = 3 if network.gated else 2
    copy = division.model.hidden + Fraction(inner * network.expert_width, layout.expert_tensor)
    return network.top_k * copy * layout.expert_tensor / layout.tp


def live(division: Division, kind: int) -> Fraction:
    """Elements alive at once in a layer that keeps nothing: its input and the residual, and the wider of its
    mixer and its network."""
    model, layout = division.model, division.layout
    network, hidden = model.kinds[kind].feed_forward, model.hidden
    along = layout.tp if layout.sequence_parallel else 1
    inner = 3 if network.gated else 2
    wide = Fraction(inner * network.width, layout.tp)
    wide += _routed(division, kind)
    return division.tokens * (
        Fraction(2 * hidden, along) + max(Fraction(mixer_elements(division, kind)), wide)
    )
