"""The network of each layer, as a configuration describes it: dense, or experts."""

from __future__ import annotations

from trnbench.bounded import kinds
from trnbench_steps.config import REQUIRED
from trnbench_steps.description import Description
from trnbench_steps.feed_forward import FeedForward


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
    if described.architecture == "falcon":
        return described.flag("bias", False)
    return described.flag("mlp_bias", described.rules.bias)


def _shared_width(described: Description, width: int) -> int:
    if described.has("shared_width") or "shared_width" in described.rules.keys:
        return described.count("shared_width", kind=kinds.OPTIONAL)
    if "shared_experts" in described.rules.keys:
        return width * described.count("shared_experts", 0, kinds.OPTIONAL)
    return 0


def _expert_layers(described: Description) -> frozenset[int]:
    """The layers that have experts, counted from 0."""
    if described.has("expert_layers"):
        return described.config.places(described.rules.key("expert_layers"), described.layers)
    if "expert_frequency" in described.rules.keys and (often := described.count("expert_frequency", 1)) != 1:
        raise described.config.error(
            f"{described.rules.key('expert_frequency')} {often} is not known here",
            cause="all models of this architecture have 1",
            try_=f'"{described.rules.key("expert_frequency")}": 1',
        )
    first = (
        described.count("first_expert_layer", kind=kinds.OPTIONAL)
        if "first_expert_layer" in described.rules.keys
        else 0
    )
    step = described.count("expert_step", 1) if "expert_step" in described.rules.keys else 1
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
