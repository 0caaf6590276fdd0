"""The attention of each layer, as a configuration describes it."""

from __future__ import annotations

import msgspec

from trnbench.bounded import kinds
from trnbench_steps.attention import Attention, AttentionKind
from trnbench_steps.config import REQUIRED
from trnbench_steps.description import Description

LAYER_TYPES = {
    "full_attention": AttentionKind.FULL,
    "sliding_attention": AttentionKind.SLIDING,
    "chunked_attention": AttentionKind.CHUNKED,
    "linear_attention": AttentionKind.LINEAR,
}


def mixers(described: Description) -> list[Attention]:
    rules = described.rules
    if rules.latent:
        return [_latent(described)] * described.layers
    kinds_of = _kinds(described)
    query_bias = described.flag("attention_bias", rules.query_bias)
    full = Attention(
        kind=AttentionKind.FULL,
        heads=described.heads,
        kv_heads=_kv_heads(described),
        head_dim=_head_dim(described),
        value_dim=_head_dim(described),
        gated=rules.gated_attention,
        query_bias=query_bias,
        output_bias=query_bias and (rules.output_bias or described.config.has("attention_bias")),
        head_norm=rules.head_norm,
        projection_norm=rules.projection_norm,
        sinks=rules.sinks,
        causal=not rules.encoder,
    )
    made = {AttentionKind.FULL: full}
    for kind in set(kinds_of) - {AttentionKind.FULL}:
        made[kind] = _linear(described) if kind is AttentionKind.LINEAR else _windowed(described, full, kind)
    return [made[kind] for kind in kinds_of]


def _kinds(described: Description) -> list[AttentionKind]:
    """Which layers attend to everything, as layer_types says or every n-th, or from one on."""
    every = [AttentionKind.FULL] * described.layers
    if described.config.has("layer_types"):
        words = described.config.words("layer_types", described.layers, tuple(LAYER_TYPES))
        return [LAYER_TYPES[word] for word in words]
    if not described.rules.others:
        return every
    other = AttentionKind(described.rules.others)
    if other is not AttentionKind.LINEAR:
        if described.has("window_flag") and not described.flag("window_flag", False):
            return every
        if (
            not described.config.has(_window_key(described))
            and _window_key(described) not in described.rules.defaults
        ):
            return every
    first = (
        described.count("window_from_layer", 0, kinds.OPTIONAL) if described.has("window_from_layer") else 0
    )
    interval = described.count("full_attention_interval", 0, kinds.OPTIONAL)
    return [
        AttentionKind.FULL if place < first or (interval and (place + 1) % interval == 0) else other
        for place in range(described.layers)
    ]


def _window_key(described: Description) -> str:
    return described.rules.keys.get("window", "sliding_window")


def _windowed(described: Description, full: Attention, kind: AttentionKind) -> Attention:
    window = described.config.count(
        _window_key(described), described.rules.defaults.get(_window_key(described), REQUIRED)
    )
    return msgspec.structs.replace(full, kind=kind, window=window)


def _linear(described: Description) -> Attention:
    keys, values = described.count("linear_num_key_heads"), described.count("linear_num_value_heads")
    if values % keys:
        raise described.config.error(
            f"linear_num_key_heads {keys} does not divide linear_num_value_heads {values}",
            cause="each key head serves as many value heads as the others",
            try_=f'"linear_num_key_heads": a divisor of {values}',
        )
    return Attention(
        kind=AttentionKind.LINEAR,
        heads=values,
        kv_heads=keys,
        head_dim=described.count("linear_key_head_dim"),
        value_dim=described.count("linear_value_head_dim"),
        convolution=described.count("linear_conv_kernel_dim"),
        gated=True,
    )


def _latent(described: Description) -> Attention:
    return Attention(
        kind=AttentionKind.LATENT,
        heads=described.heads,
        kv_heads=described.heads,
        head_dim=described.count("qk_nope_head_dim"),
        value_dim=described.count("v_head_dim"),
        query_rank=described.count("q_lora_rank", 0, kinds.OPTIONAL),
        latent_rank=described.count("kv_lora_rank"),
        rope_dim=described.count("qk_rope_head_dim"),
    )


def _kv_heads(described: Description) -> int:
    if described.architecture == "falcon" and not described.flag("new_decoder_architecture", False):
        return 1 if described.flag("multi_query", True) else described.heads
    kv_heads = described.count("num_key_value_heads", described.heads)
    if described.heads % kv_heads:
        raise described.config.error(
            f"{kv_heads} heads of keys and values do not divide {described.heads} heads of queries",
            cause="each of them serves as many query heads as the others",
            try_=f'"{described.rules.key("num_key_value_heads")}": a divisor of {described.heads}',
        )
    return kv_heads


def _head_dim(described: Description) -> int:
    if described.config.has("head_dim") or "head_dim" in described.rules.defaults:
        return described.count("head_dim")
    if described.hidden % described.heads:
        raise described.config.error(
            f"{described.heads} heads do not divide {described.hidden} features",
            cause="without head_dim, a head has hidden size / heads features",
            try_='add "head_dim": 128, as the model has it',
        )
    return described.hidden // described.heads
