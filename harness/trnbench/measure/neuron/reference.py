"""What the kernels of trnbench compute, in double precision on the host: for results too large to be computed
whole. Elements are drawn all over the result; each is computed from the inputs it depends on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from trnbench.measure.neuron.agreement import disagreement

ROWS = 48
"""Rows, or elements, of a result that are computed."""

EPSILON = 1e-5  # of the norms, trnbench.kernels.nki.rows

Check: TypeAlias = Callable[[Sequence[Any], Any], tuple[Any, Any]]
"""(inputs, plain values behind the arrays; the result) → (what it should be, what it is), of a sample."""


def wrong(ref: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> str | None:
    """ "" or what is wrong; None where this kernel is not known here."""
    package, _, name = ref.replace("::", ":", 1).rpartition(":")
    check = _CHECKS.get(name) if package.startswith("trnbench.kernels.nki.") else None
    if check is None or len(outputs) != 1:
        return None
    want, have = check(inputs, outputs[0])
    return disagreement(want, have, outputs[0].dtype.name)


def bounds(ref: str, position: int) -> tuple[float, float] | None:
    """Between which numbers an argument is drawn; None where any will do."""
    return _BOUNDS.get((ref.rpartition(":")[2], position))


def _at(count: int, most: int = ROWS) -> Any:
    """Positions all over `count`, the ends among them; the same ones each time."""
    import numpy as np

    if count <= most:
        return np.arange(count)
    drawn = np.random.default_rng(count).choice(count, size=most - 2, replace=False)
    return np.unique(np.concatenate([drawn, [0, count - 1]]))


def _double(values: Any) -> Any:
    import numpy as np

    return values.astype(np.float64)


def _copy(inputs: Sequence[Any], result: Any) -> tuple[Any, Any]:
    at = _at(result.shape[0])
    return _double(inputs[0][at]), _double(result[at])


def _ones(inputs: Sequence[Any], result: Any) -> tuple[Any, Any]:
    import numpy as np

    have = _double(result[_at(result.shape[0])])
    return np.ones((len(have), *inputs[0].shape[1:])), have


def _triad(inputs: Sequence[Any], result: Any) -> tuple[Any, Any]:
    at = _at(result.shape[0])
    return _double(inputs[0][at]) + 3.0 * _double(inputs[1][at]), _double(result[at])


def _last_chunk(inputs: Sequence[Any], result: Any) -> tuple[Any, Any]:
    return _double(inputs[0][-1][:1, :1]), _double(result)


def _transpose(inputs: Sequence[Any], result: Any) -> tuple[Any, Any]:
    rows = _at(result.shape[0])
    return _double(inputs[0][:, rows]).T, _double(result[rows])


def _softmax(inputs: Sequence[Any], result: Any) -> tuple[Any, Any]:
    rows = _at(result.shape[0])
    return _shares(_double(inputs[0][rows])), _double(result[rows])


def _rms_norm(inputs: Sequence[Any], result: Any) -> tuple[Any, Any]:
    import numpy as np

    rows = _at(result.shape[0])
    x = _double(inputs[0][rows])
    scaled = x / np.sqrt(np.mean(x**2, axis=1, keepdims=True) + EPSILON)
    return scaled * _double(inputs[1]), _double(result[rows])


def _layer_norm(inputs: Sequence[Any], result: Any) -> tuple[Any, Any]:
    import numpy as np

    rows = _at(result.shape[0])
    x = _double(inputs[0][rows])
    x = x - x.mean(axis=1, keepdims=True)
    scaled = x / np.sqrt(np.mean(x**2, axis=1, keepdims=True) + EPSILON)
    return scaled * _double(inputs[1]) + _double(inputs[2]), _double(result[rows])


def _attention(inputs: Sequence[Any], result: Any) -> tuple[Any, Any]:
    import numpy as np

    q, k, v, causal = inputs
    heads, width, tokens = q.shape
    pairs = [(head, token) for head in _at(heads, 4) for token in _at(tokens, 12)]
    want = []
    for head, token in pairs:
        seen = token + 1 if causal else tokens
        scores = _double(q[head, :, token]) @ _double(k[head, :, :seen]) * width**-0.5
        want.append(_shares(scores[None])[0] @ _double(v[head, :seen]))
    return np.array(want), np.array([_double(result[pair]) for pair in pairs])


def _experts(inputs: Sequence[Any], result: Any) -> tuple[Any, Any]:
    import numpy as np

    tokens, weights = inputs
    pairs = [(e, t) for e in _at(result.shape[0], 8) for t in _at(result.shape[1], 6)]
    columns = _at(result.shape[2], 256)
    want = [_double(tokens[e, :, t]) @ _double(weights[e][:, columns]) for e, t in pairs]
    return np.array(want), np.array([_double(result[pair][columns]) for pair in pairs])


def _product(inputs: Sequence[Any], result: Any) -> tuple[Any, Any]:
    import numpy as np

    left, right = _double(inputs[0]), _double(inputs[1])
    return np.einsum("kdm,kdn->mn", left, right), _double(result)


def _burst(inputs: Sequence[Any], result: Any) -> tuple[Any, Any]:
    # However often: every instruction reads what was there before.
    return _repeated(inputs, result, 1)


def _chain(inputs: Sequence[Any], result: Any) -> tuple[Any, Any]:
    return _repeated(inputs, result, int(inputs[2]))


def _repeated(inputs: Sequence[Any], result: Any, times: int) -> tuple[Any, Any]:
    """The instruction as often as the device did it, each result rounded as it is kept."""
    import numpy as np

    x, op = inputs[0], str(inputs[1])
    rows = _at(x.shape[0], 8)
    tile = x[rows]
    if op == "reduce":
        return _double(tile).sum(axis=1, keepdims=True), _double(result[rows])
    apply = _instruction(op)
    with np.errstate(all="ignore"):
        for _ in range(times):
            before = tile
            tile = apply(tile.astype(np.float32)).astype(x.dtype)
            if np.array_equal(before, tile, equal_nan=True):
                break
    return _double(tile), _double(result[rows])


def _instruction(op: str) -> Callable[[Any], Any]:
    import numpy as np

    if op in ("copy", "tensor_tensor"):  # the larger of itself and itself
        return lambda x: x
    if op == "tensor_scalar":
        return lambda x: x * np.float32(0.5) + np.float32(1.0)
    if op == "reciprocal":
        return lambda x: np.float32(1.0) / x
    from trnbench.nki.functions import FUNCTIONS

    return FUNCTIONS[op].apply


def _shares(scores: Any) -> Any:
    import numpy as np

    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    return grown / grown.sum(axis=1, keepdims=True)


_CHECKS: dict[str, Check] = {
    "hbm_copy": _copy,
    "hbm_write": _ones,
    "hbm_triad": _triad,
    "transpose": _transpose,
    "softmax": _softmax,
    "rms_norm": _rms_norm,
    "layer_norm": _layer_norm,
    "attention": _attention,
    "expert_gemm": _experts,
    "tensor_burst": _product,
    "hbm_read": _last_chunk,
    "dma_sweep": _last_chunk,
    **{f"{engine}_burst": _burst for engine in ("vector", "scalar", "gpsimd")},
    **{f"{engine}_chain": _chain for engine in ("vector", "scalar", "gpsimd")},
}

_BOUNDS = {
    # Steps are positive and rates negative: a state that grows with every token has no finite result.
    ("selective_scan", 0): (0.001, 0.1),
    ("selective_scan", 2): (-1.0, 0.0),
}
