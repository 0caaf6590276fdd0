"""From a configuration to a model: the rules of its architecture, applied."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from trnbench.bounded import kinds
from trnbench.bounded.kinds import Number
from trnbench.errors import BadInput
from trnbench_steps.attention import Attention, AttentionKind
from trnbench_steps.config import REQUIRED, Config
from trnbench_steps.layer import Architecture, FeedForward, Layer, architectures
from trnbench_steps.model import Model, ModelSource, PublishedCount


class Description:
    """What `config` describes. `top` is the file's own table, around that of the language model.

    All methods raise `BadInput` for a key that is missing, and for a value that no model has.
    """

    def __init__(self, architecture: str, rules: Architecture, top: Config) -> None:
        self.architecture, self.rules = architecture, rules
        self.config = top.inside(rules.inside) if rules.inside else top
        self.layers = self.count("num_hidden_layers", kind=kinds.LAYERS)
        self.hidden = self.count("hidden_size")
        self.heads = self.count("num_attention_heads")

    def count(self, name: str, default: Any = REQUIRED, kind: Number = kinds.WIDTH) -> int:
        """What the architecture calls `name`."""
        key = self.rules.key(name)
        return self.config.count(key, self.rules.defaults.get(key, default), kind)

    def flag(self, name: str, default: bool) -> bool:
        """Likewise, true or false."""
        key = self.rules.key(name)
        return self.config.flag(key, self.rules.defaults.get(key, default))

    def has(self, name: str) -> bool:
        """Whether the architecture has a key of this name, and the file or the rules a value for it."""
        key = self.rules.keys.get(name, "")
        return bool(key) and (self.config.has(key) or key in self.rules.defaults)


def networks(described: Description) -> list[FeedForward]:
    rules = described.rules
    dense = FeedForward(width=_width(described), gated=rules.gated, bias=_network_bias(described))
    if not rules.experts:
        return [dense] * described.layers
    experts, top_k = described.count("num_experts"), described.count("num_experts_per_tok")
    if top_k > experts:
        raise described.config.error(
            f"num_experts_per_tok {top_k} is more than the {experts} experts there are",
            cause="a token goes to some of the experts",
            try_=f'"num_experts_per_tok": 1 to {experts}',
        )
    width = described.count("moe_intermediate_size")
    sparse = FeedForward(
        width=_shared_width(described, width),
        gated=rules.gated,
        experts=experts,
        top_k=top_k,
        expert_width=width,
        expert_bias=rules.expert_bias,
        router_bias=rules.router_bias,
        shared_gate=rules.shared_gate,
    )
    chosen = _expert_layers(described)
    return [sparse if place in chosen else dense for place in range(described.layers)]


def _width(described: Description) -> int:
    """Of the dense network: 4 times the model's where GPT-2 and Falcon leave it out."""
    usual = 4 * described.hidden if described.architecture in ("gpt2", "falcon") else REQUIRED
    if described.rules.experts and "dense_width" in described.rules.keys:
        return described.count("dense_width")
    return described.count("intermediate_size", usual)


def _network_bias(described: Description) -> bool:
    if described.architecture == "falcon":  # of all its matrices
        return described.flag("bias", False)
    return described.flag("mlp_bias", described.rules.bias)


def _shared_width(described: Description, width: int) -> int:
    if "shared_width" in described.rules.keys:
        return described.count("shared_width", kind=kinds.OPTIONAL)
    if "shared_experts" in described.rules.keys:
        return width * described.count("shared_experts", 0, kinds.OPTIONAL)
    return 0


def _expert_layers(described: Description) -> frozenset[int]:
    """The layers that have experts, counted from 0."""
    if described.has("expert_layers"):
        return described.config.places(described.rules.key("expert_layers"), described.layers)
    if (often := described.count("expert_frequency", 1)) != 1:
        raise described.config.error(
            f"{described.rules.key('expert_frequency')} {often} is not known here",
            cause="all models of this architecture have 1",
            try_=described.config.entry(described.rules.key("expert_frequency"), "1"),
        )
    first = (
        described.count("first_expert_layer", kind=kinds.OPTIONAL)
        if "first_expert_layer" in described.rules.keys
        else 0
    )
    step = described.count("expert_step", 1)
    dense = (
        described.config.places(described.rules.key("dense_layers"), described.layers)
        if described.has("dense_layers")
        else frozenset()
    )
    return frozenset(
        place
        for place in range(described.layers)
        if place >= first and (place + 1) % step == 0 and place not in dense
    )


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
    falcon = described.architecture == "falcon"
    query_bias = _network_bias(described) if falcon else described.flag("attention_bias", rules.query_bias)
    full = Attention(
        kind=AttentionKind.FULL,
        heads=described.heads,
        kv_heads=_kv_heads(described),
        head_dim=_head_dim(described),
        value_dim=_head_dim(described),
        gated=rules.gated_attention,
        query_bias=query_bias,
        output_bias=query_bias and (falcon or rules.output_bias or described.config.has("attention_bias")),
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
    first = described.count("window_from_layer", 0, kinds.OPTIONAL)
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
    return replace(full, kind=kind, window=window)


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
            try_=described.config.entry(
                described.rules.key("num_key_value_heads"), f"a divisor of {described.heads}"
            ),
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


def read_model(
    values: Any,
    name: str,
    where: str,
    *,
    source: ModelSource | None = None,
    published: tuple[PublishedCount, ...] = (),
) -> Model:
    """The model that the configuration `values` describes.

    Raises `BadInput` for an architecture that is not known, a key that is missing, and a value that no
    model has; each names the key.
    """
    if not isinstance(values, dict):
        raise BadInput(
            f"{where} is no model's configuration",
            cause="it holds no keys with values at its top",
            try_="the config.json beside a model's weights",
        )
    top = Config(values, where)
    architecture = top.word("model_type")
    rules = architectures().get(architecture)
    if rules is None:
        raise _unknown(architecture, where)
    top.architecture = architecture
    described = Description(architecture, rules, top)
    layers: dict[Layer, int] = {}
    norms, parallel = _norms(described), _parallel(described)
    pattern = []
    for mixer, network in zip(mixers(described), networks(described), strict=True):
        layer = Layer(attention=mixer, feed_forward=network, norm=rules.norm, norms=norms, parallel=parallel)
        pattern.append(layers.setdefault(layer, len(layers)))
    tied = top if rules.inside and top.has("tie_word_embeddings") else described.config
    return Model(
        name=name,
        architecture=architecture,
        hidden=described.hidden,
        vocabulary=described.count("vocab_size"),
        kinds=tuple(layers),
        pattern=tuple(pattern),
        embedding=described.count("embedding_size", described.hidden),
        positions=described.count("max_position_embeddings", REQUIRED) if rules.learned_positions else 0,
        token_types=described.count("type_vocab_size", 0, kinds.OPTIONAL) if rules.encoder else 0,
        embedding_norm=rules.embedding_norm,
        final_norm=rules.final_norm,
        norm=rules.norm,
        tied=tied.flag("tie_word_embeddings", rules.defaults.get("tie_word_embeddings", REQUIRED)),
        head=rules.head,
        head_bias=rules.head_bias,
        pooler=rules.pooler,
        encoder=rules.encoder,
        shared_layers=rules.shared_layers,
        left_out=rules.left_out,
        source=source,
        published=published,
    )


def _unknown(architecture: str, where: str) -> BadInput:
    from difflib import get_close_matches

    from trnbench.errors import quoted

    known = sorted(architectures())
    near = get_close_matches(architecture, known, n=3, cutoff=0.6)
    return BadInput(
        f"{where}: model_type {quoted(architecture)} is no architecture known here",
        cause=f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known)}",
        try_="the model_type of a known one whose layers are the same, in a copy of the file",
    )


def _parallel(described: Description) -> bool:
    if described.architecture == "falcon":
        return described.flag("parallel_attn", True) or described.flag("new_decoder_architecture", False)
    if described.architecture == "gpt_neox":
        return described.flag("use_parallel_residual", True)
    return described.rules.parallel


def _norms(described: Description) -> int:
    """Falcon has one before both branches, or one each (7B: one; 40B and 180B: two)."""
    if described.architecture == "falcon":
        both = (
            described.count("num_ln_in_parallel_attn", 2)
            if described.flag("new_decoder_architecture", False)
            else 1
        )
        return both if _parallel(described) else 2
    return described.rules.norms
