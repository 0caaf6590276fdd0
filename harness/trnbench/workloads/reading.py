"""From a configuration to a model: the rules of its architecture, applied."""

from __future__ import annotations

from typing import Any

from trnbench.bounded import kinds
from trnbench.errors import BadInput
from trnbench.workloads.architecture import Architecture, architectures
from trnbench.workloads.attention import Attention, AttentionKind
from trnbench.workloads.config import REQUIRED, Config
from trnbench.workloads.feed_forward import FeedForward
from trnbench.workloads.layer import Layer
from trnbench.workloads.model import Model, ModelSource, PublishedCount

LAYER_TYPES = {
    "full_attention": AttentionKind.FULL,
    "sliding_attention": AttentionKind.SLIDING,
    "chunked_attention": AttentionKind.CHUNKED,
    "linear_attention": AttentionKind.LINEAR,
}


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
    return _Reader(architecture, rules, top.inside(rules.inside) if rules.inside else top, top).model(
        name, source, published
    )


def _unknown(architecture: str, where: str) -> BadInput:
    from difflib import get_close_matches

    from trnbench.quoting import quoted

    known = sorted(architectures())
    near = get_close_matches(architecture, known, n=3, cutoff=0.6)
    return BadInput(
        f"{where}: model_type {quoted(architecture)} is no architecture known here",
        cause=f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known)}",
        try_="the model_type of a known one whose layers are the same, in a copy of the file",
    )


class _Reader:
    """One configuration with its rules. `top` has what a configuration of several modalities says of all."""

    def __init__(self, architecture: str, rules: Architecture, config: Config, top: Config) -> None:
        self.architecture, self.rules, self.config, self.top = architecture, rules, config, top
        self.layers = self._count("num_hidden_layers", kind=kinds.LAYERS)
        self.hidden = self._count("hidden_size")
        self.heads = self._count("num_attention_heads")
        self.width = self._width()
        self.kv_heads = self._kv_heads()

    def model(self, name: str, source: ModelSource | None, published: tuple[PublishedCount, ...]) -> Model:
        rules = self.rules
        found: dict[Layer, int] = {}
        mixers, networks = self._mixers(), self._networks()
        norms = self._norms()
        pattern = []
        for mixer, network in zip(mixers, networks, strict=True):
            layer = Layer(
                attention=mixer, feed_forward=network, norm=rules.norm, norms=norms, parallel=self._parallel()
            )
            pattern.append(found.setdefault(layer, len(found)))
        tied = self.top if rules.inside and self.top.has("tie_word_embeddings") else self.config
        return Model(
            name=name,
            architecture=self.architecture,
            hidden=self.hidden,
            vocabulary=self._count("vocab_size"),
            kinds=tuple(found),
            pattern=tuple(pattern),
            embedding=self._count("embedding_size", self.hidden),
            positions=self._count("max_position_embeddings", REQUIRED) if rules.learned_positions else 0,
            token_types=self._count("type_vocab_size", 0, kinds.OPTIONAL) if rules.encoder else 0,
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

    def _count(self, name: str, default: Any = REQUIRED, kind: Any = kinds.WIDTH) -> int:
        key = self.rules.key(name)
        return self.config.count(key, self.rules.defaults.get(key, default), kind)

    def _flag(self, name: str, default: bool) -> bool:
        key = self.rules.key(name)
        return self.config.flag(key, self.rules.defaults.get(key, default))

    def _has(self, name: str) -> bool:
        """Whether the architecture has a key of this name, and the file or the rules a value for it."""
        key = self.rules.keys.get(name, "")
        return bool(key) and (self.config.has(key) or key in self.rules.defaults)

    def _width(self) -> int:
        """Of the dense network: 4 times the model's where GPT-2 and Falcon leave it out."""
        usual = 4 * self.hidden if self.architecture in ("gpt2", "falcon") else REQUIRED
        if self.rules.experts and "dense_width" in self.rules.keys:
            return self._count("dense_width")
        return self._count("intermediate_size", usual)

    def _kv_heads(self) -> int:
        if self.architecture == "falcon" and not self._flag("new_decoder_architecture", False):
            return 1 if self._flag("multi_query", True) else self.heads
        kv_heads = self._count("num_key_value_heads", self.heads)
        if self.heads % kv_heads:
            raise self.config.error(
                f"{kv_heads} heads of keys and values do not divide {self.heads} heads of queries",
                cause="each of them serves as many query heads as the others",
                try_=f'"{self.rules.key("num_key_value_heads")}": a divisor of {self.heads}',
            )
        return kv_heads

    def _head_dim(self) -> int:
        if self.config.has("head_dim") or "head_dim" in self.rules.defaults:
            return self._count("head_dim")
        if self.hidden % self.heads:
            raise self.config.error(
                f"{self.heads} heads do not divide {self.hidden} features",
                cause="without head_dim, a head has hidden size / heads features",
                try_='add "head_dim": 128, as the model has it',
            )
        return self.hidden // self.heads

    def _parallel(self) -> bool:
        if self.architecture == "falcon":
            return self._flag("parallel_attn", True) or self._flag("new_decoder_architecture", False)
        if self.architecture == "gpt_neox":
            return self._flag("use_parallel_residual", True)
        return self.rules.parallel

    def _norms(self) -> int:
        """Falcon has one before both branches, or one each (7B: one; 40B and 180B: two)."""
        if self.architecture == "falcon":
            both = (
                self._count("num_ln_in_parallel_attn", 2)
                if self._flag("new_decoder_architecture", False)
                else 1
            )
            return both if self._parallel() else 2
        return self.rules.norms

    def _mixers(self) -> list[Attention]:
        rules = self.rules
        if rules.latent:
            return [self._latent()] * self.layers
        kinds_of = self._kinds()
        query_bias = self._flag("attention_bias", rules.query_bias)
        full = Attention(
            kind=AttentionKind.FULL,
            heads=self.heads,
            kv_heads=self.kv_heads,
            head_dim=self._head_dim(),
            value_dim=self._head_dim(),
            gated=rules.gated_attention,
            query_bias=query_bias,
            output_bias=query_bias and (rules.output_bias or self.config.has("attention_bias")),
            head_norm=rules.head_norm,
            projection_norm=rules.projection_norm,
            sinks=rules.sinks,
            causal=not rules.encoder,
        )
        made = {AttentionKind.FULL: full}
        for kind in set(kinds_of) - {AttentionKind.FULL}:
            made[kind] = self._linear() if kind is AttentionKind.LINEAR else self._windowed(full, kind)
        return [made[kind] for kind in kinds_of]

    def _kinds(self) -> list[AttentionKind]:
        """Which layers attend to everything, as layer_types says or every n-th, or from one on."""
        every = [AttentionKind.FULL] * self.layers
        if self.config.has("layer_types"):
            words = self.config.words("layer_types", self.layers, tuple(LAYER_TYPES))
            return [LAYER_TYPES[word] for word in words]
        if not self.rules.others:
            return every
        other = AttentionKind(self.rules.others)
        if other is not AttentionKind.LINEAR:
            if self._has("window_flag") and not self._flag("window_flag", False):
                return every
            if not self.config.has(self._window_key()) and self._window_key() not in self.rules.defaults:
                return every
        first = self._count("window_from_layer", 0, kinds.OPTIONAL) if self._has("window_from_layer") else 0
        interval = self._count("full_attention_interval", 0, kinds.OPTIONAL)
        return [
            AttentionKind.FULL if place < first or (interval and (place + 1) % interval == 0) else other
            for place in range(self.layers)
        ]

    def _window_key(self) -> str:
        return self.rules.keys.get("window", "sliding_window")

    def _windowed(self, full: Attention, kind: AttentionKind) -> Attention:
        import msgspec

        window = self.config.count(self._window_key(), self.rules.defaults.get(self._window_key(), REQUIRED))
        return msgspec.structs.replace(full, kind=kind, window=window)

    def _linear(self) -> Attention:
        keys, values = self._count("linear_num_key_heads"), self._count("linear_num_value_heads")
        if values % keys:
            raise self.config.error(
                f"linear_num_key_heads {keys} does not divide linear_num_value_heads {values}",
                cause="each key head serves as many value heads as the others",
                try_=f'"linear_num_key_heads": a divisor of {values}',
            )
        return Attention(
            kind=AttentionKind.LINEAR,
            heads=values,
            kv_heads=keys,
            head_dim=self._count("linear_key_head_dim"),
            value_dim=self._count("linear_value_head_dim"),
            convolution=self._count("linear_conv_kernel_dim"),
            gated=True,
        )

    def _latent(self) -> Attention:
        return Attention(
            kind=AttentionKind.LATENT,
            heads=self.heads,
            kv_heads=self.heads,
            head_dim=self._count("qk_nope_head_dim"),
            value_dim=self._count("v_head_dim"),
            query_rank=self._count("q_lora_rank", 0, kinds.OPTIONAL),
            latent_rank=self._count("kv_lora_rank"),
            rope_dim=self._count("qk_rope_head_dim"),
        )

    def _networks(self) -> list[FeedForward]:
        rules = self.rules
        dense = FeedForward(width=self.width, gated=rules.gated, bias=self._network_bias())
        if not rules.experts:
            return [dense] * self.layers
        experts, top_k = self._count("num_experts"), self._count("num_experts_per_tok")
        if top_k > experts:
            raise self.config.error(
                f"num_experts_per_tok {top_k} is more than the {experts} experts there are",
                cause="a token goes to some of the experts",
                try_=f'"num_experts_per_tok": 1 to {experts}',
            )
        width = self._count("moe_intermediate_size")
        sparse = FeedForward(
            width=self._shared_width(width),
            gated=rules.gated,
            experts=experts,
            top_k=top_k,
            expert_width=width,
            expert_bias=rules.expert_bias,
            router_bias=rules.router_bias,
            shared_gate=rules.shared_gate,
        )
        chosen = self._expert_layers()
        return [sparse if place in chosen else dense for place in range(self.layers)]

    def _network_bias(self) -> bool:
        if self.architecture == "falcon":
            return self._flag("bias", False)
        return self._flag("mlp_bias", self.rules.bias)

    def _shared_width(self, width: int) -> int:
        if self._has("shared_width") or "shared_width" in self.rules.keys:
            return self._count("shared_width", kind=kinds.OPTIONAL)
        if "shared_experts" in self.rules.keys:
            return width * self._count("shared_experts", 0, kinds.OPTIONAL)
        return 0

    def _expert_layers(self) -> frozenset[int]:
        """The layers that have experts, counted from 0."""
        if self._has("expert_layers"):
            return self.config.places(self.rules.key("expert_layers"), self.layers)
        if "expert_frequency" in self.rules.keys and (often := self._count("expert_frequency", 1)) != 1:
            raise self.config.error(
                f"{self.rules.key('expert_frequency')} {often} is not known here",
                cause="all models of this architecture have 1",
                try_=f'"{self.rules.key("expert_frequency")}": 1',
            )
        first = (
            self._count("first_expert_layer", kind=kinds.OPTIONAL)
            if "first_expert_layer" in self.rules.keys
            else 0
        )
        step = self._count("expert_step", 1) if "expert_step" in self.rules.keys else 1
        dense = (
            self.config.places(self.rules.key("dense_layers"), self.layers)
            if self._has("dense_layers")
            else frozenset()
        )
        return frozenset(
            place
            for place in range(self.layers)
            if place >= first and (place + 1) % step == 0 and place not in dense
        )
