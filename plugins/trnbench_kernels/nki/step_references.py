"""What the NKI kernels of a model's step compute, in plain NumPy; written as `references` is."""

from __future__ import annotations

import numpy as np

from trnbench_kernels.nki.references import EPSILON, Array, softmax

BETA1, BETA2, ADAM_EPSILON, RATE, DECAY = 0.9, 0.95, 1e-8, 1e-4, 0.1
BLOCK = 2048
"""Those of `elementwise` and `flash`, which cannot be imported here: a kernel's source needs an `nki`."""


def linear_few(x: Array, w: Array) -> Array:
    """(copies, columns, tiles, tokens) of x (copies, rows, parts, tokens) and w (copies, rows, tiles, parts ·
    columns)."""
    copies, rows, parts, _ = x.shape
    weights = w.astype(x.dtype).reshape(copies, rows, w.shape[2], parts, -1)
    return np.asarray(np.einsum("erpt,ernpc->ecnt", x, weights))


def norm_few(x: Array, gamma: Array) -> Array:
    """x / sqrt(mean of squares + ε) · γ of every token, features along the first two axes."""
    return np.asarray(x / np.sqrt((x * x).mean(axis=(0, 1), keepdims=True) + EPSILON) * gamma[:, :, None])


def attention_cached(q: Array, k: Array, v: Array) -> Array:
    """softmax(qᵀ·k / √width) · v of every cache; key p · spread + j has its value at (p, j)."""
    caches, rows, parts, heads = q.shape
    weights = softmax(np.einsum("crph,crpk->chk", q, k) / np.sqrt(rows * parts))
    values = v.reshape(caches, -1, v.shape[3])
    out = np.einsum("chk,ckw->cwh", weights, values)
    columns = min(v.shape[3], 128)
    return np.asarray(out.reshape(caches, -1, columns, heads).transpose(0, 2, 1, 3))


def flash(q: Array, k: Array, v: Array, causal: bool, window: int) -> Array:
    """softmax(qᵀ·k / √width) · v of every head; blocks of keys before the window are left out."""
    return np.asarray(np.einsum("hqk,hkd->hqd", softmax(scores_of(q, k, causal, window)), v))


def flash_backward(
    q: Array,
    k: Array,
    v: Array,
    by_token: Array,
    gradient: tuple[Array, Array],
    kept: Array,
    causal: bool,
    window: int,
) -> Array:
    """Gradients of q, k and v (Dao et al. 2022, algorithm 4)."""
    along, across = gradient
    weights = np.exp(scores_of(q, k, causal, window) + kept[:, :, :1])
    inward = np.einsum("hrpq,hrpk->hqk", along, v) - kept[:, :, 1:]
    slopes = weights * inward / np.sqrt(q.shape[1] * q.shape[2])
    return np.asarray(
        [
            np.einsum("hqk,hkd->hqd", slopes, by_token[1]),
            np.einsum("hqk,hqd->hkd", slopes, by_token[0]),
            np.einsum("hqk,hqd->hkd", weights, across),
        ]
    )


def scores_of(q: Array, k: Array, causal: bool, window: int) -> Array:
    """Of queries and keys; what is hidden is -∞."""
    scores = np.einsum("hrpq,hrpk->hqk", q, k) / np.sqrt(q.shape[1] * q.shape[2])
    own, other = np.arange(scores.shape[1])[:, None], np.arange(scores.shape[2])[None, :]
    if causal:
        scores = np.where(other <= own, scores, -np.inf)
    if window:
        first = np.maximum(own // BLOCK * BLOCK - window, 0) // BLOCK * BLOCK
        scores = np.where(other >= first, scores, -np.inf)
    return np.asarray(scores)


def row_maximum(x: Array) -> Array:
    """The largest of each row."""
    return np.asarray(x.max(axis=-1, keepdims=True))


def combine(x: Array, operands: int) -> Array:
    """x · operands; of a single one x · sigmoid(x)."""
    return np.asarray(x * operands if operands > 1 else x / (1 + np.exp(-x)))


def adam(weights: Array, gradient: Array, moments: Array, master: bool) -> tuple[Array, Array]:
    """Weights, and what is kept of them, after Adam with decoupled decay; bias is not corrected."""
    first = BETA1 * moments[0] + (1 - BETA1) * gradient
    second = BETA2 * moments[1] + (1 - BETA2) * gradient**2
    own = moments[2] if master else weights
    changed = own * (1 - RATE * DECAY) - RATE * first / (np.sqrt(second) + ADAM_EPSILON)
    return changed, np.asarray([first, second, *([changed] if master else [])])


def short_convolution(x: Array, taps: Array) -> Array:
    """silu of the weighed sum of a token and those before it; x begins `taps` - 1 tokens earlier."""
    tokens = x.shape[2] - taps.shape[2] + 1
    sums = sum(taps[:, :, t, None] * x[:, :, t : t + tokens] for t in range(taps.shape[2]))
    return np.asarray(sums / (1 + np.exp(-sums)))


def delta_prompt(q: Array, k: Array, v: Array, gates: Array, rates: Array) -> tuple[Array, Array]:
    """The gated delta rule token by token: results (heads, values, tokens) and the last states."""
    state = np.zeros((q.shape[0], q.shape[1], v.shape[1]))
    out = []
    for t in range(q.shape[2]):
        query, key, value = (each[:, :, t].T for each in (q, k, v))
        now, state = delta_step(query, key, value, gates[:, :, t], rates.T, state)
        out.append(now.T)
    return np.stack(out, axis=2), state


def delta_step(
    q: Array, k: Array, v: Array, gates: Array, rates: Array, states: Array
) -> tuple[Array, Array]:
    """One token of each state: results (values, count) and the states behind it."""
    fade = np.exp(-rates[0] * np.log1p(np.exp(gates[0] + rates[1])))
    strength = 1 / (1 + np.exp(-gates[1]))
    query = q / np.sqrt((q * q).sum(axis=0) * q.shape[0])
    key = k / np.sqrt((k * k).sum(axis=0))
    faded = states * fade[:, None, None]
    new = strength * (v - np.einsum("kn,nkv->vn", key, faded))
    after = faded + np.einsum("kn,vn->nkv", key, new)
    return np.einsum("kn,nkv->vn", query, after), after


def spans_merged(parts: Array, logs: Array) -> Array:
    """Attention of spans (spans, columns, wide, heads) by the sums of their weights, as logarithms."""
    shares = np.exp(logs - logs.max(axis=0))
    return np.asarray(np.einsum("scwh,sh->cwh", parts, shares / shares.sum(axis=0)))
