"""What a model keeps of the tokens it has seen: keys and values, compressed vectors, or a state."""

from __future__ import annotations

from trnbench.kernels.work import item_bytes
from trnbench_steps.attention import Attention, AttentionKind
from trnbench_steps.model import Model

STATE = "fp32"
"""The state of linear attention is kept in (huggingface/transformers, qwen3_next: its recurrence is)."""


def cached_tokens(attention: Attention, length: int) -> int:
    """Tokens of a sequence of `length` that the layer keeps: no more than its window."""
    if attention.kind is AttentionKind.LINEAR:
        return 0
    return min(length, attention.window) if attention.window else length


def token_elements(attention: Attention) -> int:
    """Elements kept for each token: keys and values of all heads, or one vector and the shared key."""
    if attention.kind is AttentionKind.LINEAR:
        return 0
    if attention.kind is AttentionKind.LATENT:
        return attention.latent_rank + attention.rope_dim
    return attention.kv_heads * (attention.head_dim + attention.value_dim)


def state_elements(attention: Attention) -> tuple[int, int]:
    """Elements kept whatever the length: of the recurrent state, and of the convolution's last inputs."""
    if attention.kind is not AttentionKind.LINEAR:
        return 0, 0
    channels = 2 * attention.kv_heads * attention.head_dim + attention.heads * attention.value_dim
    return attention.heads * attention.head_dim * attention.value_dim, channels * (attention.convolution - 1)


def cache_bytes_per_token(model: Model, dtype: str) -> float:
    """Bytes by which the cache of a short sequence grows with each token."""
    if model.encoder:
        return 0.0
    return item_bytes(dtype) * sum(token_elements(layer.attention) * count for layer, count in model.runs())


def cache_bytes(model: Model, length: int, dtype: str) -> float:
    """Bytes of one sequence of `length` tokens, on all ranks together, nothing kept twice."""
    if model.encoder:
        return 0.0
    total = 0.0
    for layer, count in model.runs():
        state, inputs = state_elements(layer.attention)
        held = token_elements(layer.attention) * cached_tokens(layer.attention, length) + inputs
        total += count * (held * item_bytes(dtype) + state * item_bytes(STATE))
    return total
