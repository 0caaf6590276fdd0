"""What the NKI kernels of the benchmarks compute, in plain NumPy: the other side of `--check reference`, and
of the results that a device returns.

Each function takes the kernel's arguments in their order, floats as float32 or float64, computes in that
precision and is named like the kernel. They are written for reading, not for speed.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
EPSILON = 1e-5
"""That of the norms, whose `rows` and `decode` cannot be imported here: a kernel's source needs an `nki`."""


def gemm_best(left: Array, right: Array) -> Array:
    """leftᵀ · right: the left operand comes transposed."""
    return np.asarray(left.T @ right)


gemm_blocked = gemm_naive = gemm_best


def unscaled(words: Array, scales: Array) -> Array:
    """(K / 4, N) words and (K / 32, N) scales as the (K, N) numbers they stand for: element i of word p is
    row 4p + i. Words of 32 bits hold E4M3, those of 16 bits E2M1."""
    at = np.arange(4)[None, :, None]
    if words.dtype.itemsize == 4:
        bits = (words[:, None] >> (8 * at)).astype(np.uint8)
        values = bits.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    else:
        bits = (words[:, None] >> (4 * at) & 15).astype(np.uint8)
        values = bits.view(ml_dtypes.float4_e2m1fn).astype(np.float32)
    return np.asarray(values.reshape(-1, words.shape[1]) * scales.astype(np.float32).repeat(32, axis=0))


def hbm_read(source: Array) -> Array:
    """The first element of the last chunk."""
    return source[-1, :1, :1]


def hbm_write(like: Array) -> Array:
    """Ones."""
    return np.ones_like(like)


def hbm_copy(source: Array) -> Array:
    """The same again."""
    return source


def hbm_triad(b: Array, c: Array) -> Array:
    """b + 3·c."""
    return np.asarray(b + 3 * c)


dma_sweep = hbm_read


def transpose(x: Array) -> Array:
    """xᵀ."""
    return x.T


def softmax(x: Array) -> Array:
    """exp(x - max) / Σ exp(x - max) along the last axis."""
    grown = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=-1, keepdims=True))


def layer_norm(x: Array, gamma: Array, beta: Array) -> Array:
    """(x - mean) / sqrt(variance + ε) · γ + β of every row."""
    spread = np.sqrt(x.var(axis=1, keepdims=True) + EPSILON)
    return np.asarray((x - x.mean(axis=1, keepdims=True)) / spread * gamma + beta)


def rms_norm(x: Array, gamma: Array) -> Array:
    """x / sqrt(mean of squares + ε) · γ of every row."""
    return np.asarray(x / np.sqrt((x * x).mean(axis=1, keepdims=True) + EPSILON) * gamma)


def attention(q: Array, k: Array, v: Array, causal: bool, first: int = 0, every: int = 1) -> Array:
    """softmax(q·kᵀ / √width) · v of every head; q and k are (heads, width, tokens).

    Of q there are the tiles of 128 queries from number `first` on, each `every`-th one."""
    scores = np.einsum("hdq,hdk->hqk", q, k) / np.sqrt(q.shape[1])
    if causal:
        row = np.arange(q.shape[2])
        own = (first + row // 128 * every) * 128 + row % 128
        scores = np.where(np.arange(k.shape[2]) <= own[:, None], scores, -np.inf)
    return np.asarray(np.einsum("hqk,hkd->hqd", softmax(scores), v))


def selective_scan(delta: Array, u: Array, a: Array, b: Array, c: Array) -> Array:
    """y = Σ C·h over the states, h = exp(δ·A)·h + δ·u·B along the tokens."""
    total = np.zeros_like(delta)
    for state in range(a.shape[1]):
        h = np.zeros(len(delta), delta.dtype)
        for token in range(delta.shape[1]):
            h = np.exp(delta[:, token] * a[:, state]) * h + delta[:, token] * u[:, token] * b[state, token]
            total[:, token] += c[state, token] * h
    return total


def expert_gemm(tokens: Array, weights: Array) -> Array:
    """Of every expert: (hidden, tokens)ᵀ · (hidden, columns)."""
    return np.asarray(np.einsum("ekm,ekn->emn", tokens, weights))


def tensor_chain(x: Array, weights: Array, count: int) -> Array:
    """xᵀ · weights / √rows, again and again."""
    for _ in range(count):
        x = x.T @ weights / np.sqrt(len(weights))
    return x


def tensor_burst(stationary: Array, moving: Array, count: int) -> Array:  # noqa: ARG001
    """stationaryᵀ · moving, however often."""
    return np.asarray(np.einsum("kdm,kdn->mn", stationary, moving))
