"""What public kernels compute, in NumPy; written from what their documentation says."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float64])


def wide(*arrays: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(each, np.float64) for each in arrays)


def softmax(x: Any) -> Any:
    (x,) = wide(x)
    grown = np.exp(x - x.max(-1, keepdims=True))
    return grown / grown.sum(-1, keepdims=True)


def product(left: Any, right: Any) -> Any:
    left, right = wide(left, right)
    return left.T @ right


def attention(q: Any, k: Any, v: Any, scale: float = 1.0, *, causal: bool = False) -> Any:
    """q: (…, queries, depth), k: (…, keys, depth), v: (…, keys, depth)."""
    q, k, v = wide(q, k, v)
    scores = scale * q @ np.swapaxes(k, -1, -2)
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -1e9)
    return softmax(scores) @ v


def turned_attention(q: Any, k: Any, v: Any) -> Any:
    """All three as (depth, sequence)."""
    return attention(q.T, k.T, v.T)


def gelu(x: Any) -> Any:
    (x,) = wide(x)
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


def dense_gelu(x: Any, w: Any, bias: Any) -> Any:
    return gelu(product(x, w) + bias)


def rms_norm(x: Any, gain: Any = 1.0, epsilon: float = 1e-6) -> Any:
    (x,) = wide(x)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gain


def layer_norm(x: Any, epsilon: float, gain: Any = 1.0, shift: Any = 0.0) -> Any:
    (x,) = wide(x)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) * gain + shift


def mamba(delta: Any, u: Any, a: Any, b: Any, c: Any) -> Any:
    """delta, u: (…, channels, time), a: (channels, states), b, c: (…, states, time)."""
    out = np.zeros_like(delta)
    for state in range(a.shape[1]):
        held = np.zeros(delta.shape[:-1], np.float32)
        for t in range(delta.shape[-1]):
            row_b, row_c = (each[..., state, t, None] for each in (b, c))
            held = np.exp(delta[..., t] * a[:, state]) * held + delta[..., t] * u[..., t] * row_b
            out[..., t] += held * row_c
    return out


def max_pool(x: Any, size: int) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, (size, size)).max((-1, -2))


def average_pool(x: Any, size: int) -> Any:
    channels, height, width = x.shape
    return x.reshape(channels, height // size, size, width // size, size).mean((2, 4))


def adaptive_pool(x: Any, size: int) -> Any:
    """(N, C, H, W) to (N, C, size, size): means over parts of nearly equal size."""
    parts = [
        [slice(n * side // size, -(-(n + 1) * side // size)) for n in range(size)] for side in x.shape[2:]
    ]
    return np.array([[x[:, :, h, w].mean((2, 3)) for w in parts[1]] for h in parts[0]]).transpose(2, 3, 0, 1)


def turned_parts(x: Any, shape: tuple[int, int]) -> Any:
    return x.reshape(len(x), *shape).transpose(0, 2, 1).reshape(x.shape)


def grown_twice(x: Any) -> Any:
    """Linear interpolation by 2 along every dimension from the third on, corners not aligned."""
    for axis in range(2, x.ndim):
        size = x.shape[axis]
        at = (np.arange(2 * size) + 0.5) / 2 - 0.5
        low = np.clip(np.floor(at).astype(int), 0, size - 1)
        high = np.clip(low + 1, 0, size - 1)
        share = np.clip(at - low, 0, 1).reshape([-1 if n == axis else 1 for n in range(x.ndim)])
        x = np.take(x, low, axis) * (1 - share) + np.take(x, high, axis) * share
    return x


def rotated(q: Any, k: Any, cos: Any, sin: Any) -> Any:
    """Rotary embedding of q and k: (…, sequence, depth), halves of the depth turned against each other."""

    def one(x: Any) -> Any:
        half = x.shape[-1] // 2
        return x * cos + np.concatenate([-x[..., half:], x[..., :half]], -1) * sin

    return np.stack([one(q), one(k)])


def swiglu(x: Any, gate: Any, up: Any, down: Any) -> Any:
    x, gate, up, down = wide(x, gate, up, down)
    gated = x @ gate
    return (gated / (1 + np.exp(-gated)) * (x @ up)) @ down


def cross_entropy(logits: Any, targets: Any) -> tuple[Any, Any]:
    """The loss of every row, and the logarithm of the sum of its exponentials."""
    (logits,) = wide(logits)
    total = np.log(np.exp(logits).sum(-1))
    return total - logits[np.arange(len(logits)), targets], total


def places_of_nonzero(x: Any) -> tuple[Any, Any]:
    """Of every column: the rows that are not 0, -1 behind them; and how many there are."""
    found = [np.flatnonzero(column) for column in x.T]
    padded = [np.concatenate([each, np.full(len(x) - len(each), -1)]) for each in found]
    return np.array(padded), np.array([len(each) for each in found])


def convolved(x: Any, w: Any, bias: Any, pool: int = 1) -> Any:
    """(N, C, H, W) with (K, C, h, w), no padding; then the maximum of pool × pool."""
    x, w, bias = wide(x, w, bias)
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    out = np.einsum("nchwij,kcij->nkhw", windows, w) + bias[None, :, None, None]
    n, k, height, width = out.shape
    return out.reshape(n, k, height // pool, pool, width // pool, pool).max((3, 5))


def log_sums(q: Any, k: Any, scale: float, *, causal: bool = False) -> Any:
    """The logarithm of the sum of exponentials of every row of attention's scores."""
    q, k = wide(q, k)
    scores = scale * q @ np.swapaxes(k, -1, -2)
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -1e9)
    largest = scores.max(-1, keepdims=True)
    return (largest + np.log(np.exp(scores - largest).sum(-1, keepdims=True)))[..., 0]


def attention_gradients(q: Any, k: Any, v: Any, dy: Any) -> tuple[Any, Any, Any]:
    """Of causal attention, by q, k and v; all as (…, depth, sequence)."""
    q, k, v, dy = (np.swapaxes(each, -1, -2) for each in wide(q, k, v, dy))
    scale = q.shape[-1] ** -0.5
    scores = scale * q @ np.swapaxes(k, -1, -2)
    weights = softmax(np.where(np.tri(*scores.shape[-2:]) > 0, scores, -1e9))
    by_weight = dy @ np.swapaxes(v, -1, -2)
    by_score = weights * (by_weight - (weights * by_weight).sum(-1, keepdims=True)) * scale
    turned = (by_score @ k, np.swapaxes(by_score, -1, -2) @ q, np.swapaxes(weights, -1, -2) @ dy)
    return tuple(np.swapaxes(each, -1, -2) for each in turned)  # type: ignore[return-value]


def convolved_rows(x: Any, w: Any) -> Any:
    """x: (batch, in, length), w: (width, in, out), no padding."""
    x, w = wide(x, w)
    length = x.shape[-1] - w.shape[0] + 1
    return sum(np.einsum("bil,io->bol", x[..., at : at + length], w[at]) for at in range(w.shape[0]))


def convolved_channels(x: Any, w: Any) -> Any:
    """Each channel with its own filter. x: (batch, channels, 1, length), w: (channels, 1, 1, width)."""
    x, w = wide(x, w)
    length = x.shape[-1] - w.shape[-1] + 1
    return sum(x[..., at : at + length] * w[None, :, 0, :, at, None] for at in range(w.shape[-1]))


def unit_rows(x: Any) -> Any:
    (x,) = wide(x)
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)


def delta_rule(q: Any, k: Any, v: Any, decay: Any, write: Any, state: Any = None) -> tuple[Any, Any]:
    """Gated: the state forgets, and learns what it does not know of a value. q, k, v: (tokens, depth);
    decay (its logarithm) and write: (tokens, 1), or spread over the depth. Outputs, and the last state."""
    q, k, v, decay, write = wide(q, k, v, decay, write)
    state = np.zeros((k.shape[1], v.shape[1])) if state is None else state.astype(np.float64)
    out = []
    for t in range(len(q)):
        state = state * np.exp(decay[t, 0])
        state = state + np.outer(k[t], (v[t] - k[t] @ state) * write[t, 0])
        out.append(q[t] @ state)
    return np.array(out), state


def prefixes(factor: Any, shift: Any, state: Any) -> tuple[Any, Any]:
    """The states before each step `factor @ state + shift`, and the last."""
    states = [state]
    for each, other in zip(factor, shift, strict=True):
        states.append(each @ states[-1] + other)
    return np.array(states[:-1]), states[-1]


def block_statistics(q: Any, k: Any) -> tuple[Any, Any]:
    """Of blocks of scores: the largest of each row, and the sum of exponentials below it."""
    scores = np.einsum("mid,mkjd->mkij", *wide(q, k))
    largest = scores.max(-1)
    return largest, np.exp(scores - largest[..., None]).sum(-1)


def mp2_terms(b: Any, occupied: Any, virtual: Any) -> Any:
    """Of each pair of occupied orbitals: the sum of t (2 t - t') over the energies' difference."""
    t = np.einsum("iap,jbp->ijab", b, b)
    gaps = (occupied[:, 0][:, None, None, None] + occupied[:, 0][None, :, None, None]
            - virtual[:, 0][:, None] - virtual[:, 0])  # fmt: skip
    return (t * (2 * t - t.swapaxes(2, 3)) / gaps).sum((2, 3))


def points4(re: Any, im: Any, turn_re: Any, turn_im: Any) -> tuple[Any, Any]:
    """Fourier transforms of four points each, after each is turned."""
    out = np.fft.fft((re + 1j * im) * (turn_re + 1j * turn_im), axis=-1)
    return out.real, out.imag


def butterfly(re: Any, im: Any, turn_re: Any, turn_im: Any) -> tuple[Any, Any]:
    """One stage: the second half of each group is turned, added to and taken from the first."""
    groups, half = turn_re.shape
    x = (re + 1j * im).reshape(groups, 2, half)
    turned = x[:, 1] * (turn_re + 1j * turn_im)
    out = np.stack([x[:, 0] + turned, x[:, 0] - turned], 1).reshape(re.shape)
    return out.real, out.imag


def scattered(buffer: Any, rows: Any, first: Any, second: Any) -> Any:
    out = buffer.copy()
    out[first, second] = rows
    return out


def cached(prior: Any, new: Any, batch: int) -> Any:
    """(batch, heads, length, depth), written from the beginning."""
    out = prior.copy()
    out[batch, :, : new.shape[2]] = new[0]
    return out


def mixture(x: Any, gain: Any, gate: Any, shift: Any, first: Any, one: Any, second: Any, two: Any) -> Any:
    """Four experts of each token, weighed by the softmax of their gates; between their products a SwiGLU
    of neighbours, clamped at 7, its sigmoid at 1.702 times."""
    rows = rms_norm(x, gain, 1e-5)
    gates = rows @ gate + shift
    chosen = np.argsort(-gates, -1)[:, :4]
    weights = softmax(np.take_along_axis(gates, chosen, -1))
    inner = np.einsum("beij,bj->bei", first[chosen], rows) + one[chosen]
    left, right = np.minimum(inner[..., ::2], 7), np.clip(inner[..., 1::2], -7, 7)
    inner = left / (1 + np.exp(-1.702 * left)) * (right + 1)
    outer = np.einsum("beij,bej->bei", second[chosen], inner) + two[chosen]
    return (outer * weights[..., None]).sum(1)


def turned(x: Any, cos: Any, sin: Any) -> Any:
    """Rotary embedding of (batch, sequence, heads, depth)."""
    return np.swapaxes(rotated(np.swapaxes(x, 1, 2), np.swapaxes(x, 1, 2), cos, sin)[0], 1, 2)


def turned_depth(x: Any, cos: Any, sin: Any) -> Any:
    """Of (depth, batch, heads, sequence) by (depth / 2, batch, sequence)."""
    low, high = np.split(x, 2)
    cos, sin = cos[:, :, None], sin[:, :, None]
    return np.concatenate([low * cos - high * sin, high * cos + low * sin])


def from_fp8(values: Any) -> Any:
    return values.view(ml_dtypes.float8_e4m3).astype(np.float64)


def gated_tail(heads: int, *given: Any) -> Any:
    """Attention of a token's heads over caches: norm, rotation of the first 64, mask, and a sigmoid gate."""
    q, gate, norm, cos, sin, keys, values, mask = wide(*given)
    rows, count = rms_norm(q, 1 + norm), mask.shape[1]
    rows[:, :64] = rotated(rows[:, :64], rows[:, :64], cos, sin)[0]
    out = []
    for batch in range(len(q) // heads):
        part = slice(batch * count, (batch + 1) * count)
        scores = rows[batch * heads : (batch + 1) * heads] @ keys[part].T / q.shape[1] ** 0.5
        out.append(softmax(np.where(mask > 0, scores, -1e9)) @ values[part])
    return np.concatenate(out) / (1 + np.exp(-gate))


def delta_heads(heads: int, state: Any, q: Any, k: Any, v: Any, decay: Any, write: Any) -> tuple[Any, Any]:
    """The gated delta rule of each head, its queries and keys made of length 1."""
    parts = zip(*(np.split(each, heads) for each in (q, k, v, decay, write, state)), strict=True)
    done = [
        delta_rule(unit_rows(q) / q.shape[1] ** 0.5, unit_rows(k), v, decay, write, state)
        for q, k, v, decay, write, state in parts
    ]
    return np.concatenate([out for out, _ in done]), np.concatenate([last for _, last in done])


def pairs_turned(x: Any, cos: Any, sin: Any, heads: int) -> Any:
    """Rotary embedding of (sequence, heads * depth), neighbours turned against each other."""
    cos, sin = (each[:, None, : each.shape[1] // 2] for each in (cos, sin))
    even, odd = (x.reshape(len(x), heads, -1)[..., start::2] for start in (0, 1))
    return np.stack([even * cos - odd * sin, even * sin + odd * cos], -1)


def paged_attention(q: Any, k: Any, v: Any, cache: Any, blocks: Any) -> Any:
    """Every query sees the cache, and new keys up to its own: q and k as (1, heads, depth, new)."""
    old = [np.swapaxes(part[blocks], 0, 1).reshape(q.shape[1], -1, q.shape[2]) for part in cache]
    keys = np.concatenate([old[0], np.swapaxes(k[0], 1, 2)], 1)
    values = np.concatenate([old[1], v[0]], 1)
    scores = np.swapaxes(q[0], 1, 2) @ np.swapaxes(keys, 1, 2) / np.sqrt(q.shape[2])
    new = q.shape[3]
    scores[..., -new:] = np.where(np.tri(new) > 0, scores[..., -new:], -1e9)
    return softmax(scores) @ values


def block_tables(blocks: Any, tiles: int, width: int, heads: int, head: int, parts: int) -> Any:
    """Rows of a cache of flattened heads and parts of blocks: (loads, 128, tiles up to whole 128)."""
    table = np.zeros((-(-tiles // 128) * 128, width), np.int64)
    table[:tiles] = blocks.reshape(tiles, width)
    rows = (table * heads + head)[..., None] * parts + np.arange(parts)
    return rows.reshape(len(table), -1).T.reshape(-1, 128, len(table))
