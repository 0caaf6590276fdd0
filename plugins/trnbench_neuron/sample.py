"""Parts of a kernel's result, drawn all over it, each computed from the part of the arguments it depends on:
for results too large to be computed whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from trnbench_neuron import instruction
from trnbench_neuron.agreement import disagreement

ROWS = 48
"""Rows, or elements, of a result that are computed."""

Cut: TypeAlias = Callable[[Sequence[Any], Any], Iterable[tuple[tuple[Any, ...], Any]]]
"""(arguments, result) → smaller problems of the same kernel: its arguments, and what it made of them."""


def known(ref: str) -> bool:
    """Whether `wrong` can tell of this kernel; only those of trnbench are known by their names."""
    package, _, name = ref.replace("::", ":", 1).rpartition(":")
    return package.startswith("trnbench_kernels.nki.") and (name in _CUTS or name in instruction.KERNELS)


def wrong(ref: str, arguments: Sequence[Any], outputs: Sequence[Any]) -> str | None:
    """ "" or what is wrong; None where this kernel is not known here. Computed in double precision."""
    if not known(ref) or len(outputs) != 1:
        return None
    name, (result,) = ref.rpartition(":")[2], outputs
    if name in instruction.KERNELS:
        rows = _at(result.shape[0], 8)
        want = instruction.repeated(name, arguments[0][rows], *arguments[1:])
        return disagreement(want, _double(result[rows]), result.dtype.name)
    from trnbench_kernels.nki import references

    compute = getattr(references, name)
    parts = [
        (_double(compute(*map(wide, given))), _double(part)) for given, part in _CUTS[name](arguments, result)
    ]
    wants, haves = zip(*parts, strict=True)
    return disagreement(_together(wants), _together(haves), result.dtype.name)


def _at(count: int, most: int = ROWS) -> Any:
    """Positions all over `count`, the ends among them; the same ones each time."""
    import numpy as np

    if count <= most:
        return np.arange(count)
    drawn = np.random.default_rng(count).choice(count, size=most - 2, replace=False)
    return np.unique(np.concatenate([drawn, [0, count - 1]]))


def _double(value: Any) -> Any:
    import numpy as np

    return value.astype(np.float64) if isinstance(value, np.ndarray) else value


def wide(value: Any) -> Any:
    """Floats in double precision; integers may be the words of packed floats."""
    import numpy as np

    whole = isinstance(value, np.ndarray) and value.dtype.kind in "iub"
    return value if whole else _double(value)


def _together(parts: Sequence[Any]) -> Any:
    import numpy as np

    return parts[0] if len(parts) == 1 else np.stack(parts)


def _whole(arguments: Sequence[Any], result: Any) -> Iterable[tuple[tuple[Any, ...], Any]]:
    yield tuple(arguments), result


def _elementwise(arguments: Sequence[Any], result: Any) -> Iterable[tuple[tuple[Any, ...], Any]]:
    rows = _at(result.shape[0])
    yield tuple(each[rows] for each in arguments), result[rows]


def _rows(arguments: Sequence[Any], result: Any) -> Iterable[tuple[tuple[Any, ...], Any]]:
    """Each row of the first argument for itself; weights go with all of them."""
    x, *weights = arguments
    rows = _at(result.shape[0])
    yield (x[rows], *weights), result[rows]


def _columns(arguments: Sequence[Any], result: Any) -> Iterable[tuple[tuple[Any, ...], Any]]:
    rows = _at(result.shape[0])
    yield (arguments[0][:, rows],), result[rows]


def _last_chunk(arguments: Sequence[Any], result: Any) -> Iterable[tuple[tuple[Any, ...], Any]]:
    yield (arguments[0][-1:],), result


def _tokens(arguments: Sequence[Any], result: Any) -> Iterable[tuple[tuple[Any, ...], Any]]:
    """One query each. What a causal mask lets it see is all there is of its keys, so none is needed."""
    q, k, v, causal = arguments
    heads, _, tokens = q.shape
    for head in _at(heads, 4):
        for token in _at(tokens, 12):
            one, at, seen = slice(head, head + 1), slice(token, token + 1), token + 1 if causal else tokens
            yield (q[one, :, at], k[one, :, :seen], v[one, :seen], False), result[one, at]


def _experts(arguments: Sequence[Any], result: Any) -> Iterable[tuple[tuple[Any, ...], Any]]:
    tokens, weights = arguments
    columns = _at(result.shape[2], 256)
    for expert in _at(result.shape[0], 8):
        for token in _at(result.shape[1], 6):
            one, at = slice(expert, expert + 1), slice(token, token + 1)
            yield (tokens[one, :, at], weights[one][:, :, columns]), result[one, at][:, :, columns]


_CUTS: dict[str, Cut] = {
    "hbm_copy": _elementwise,
    "hbm_write": _elementwise,
    "hbm_triad": _elementwise,
    "hbm_read": _last_chunk,
    "dma_sweep": _last_chunk,
    "transpose": _columns,
    "softmax": _rows,
    "rms_norm": _rows,
    "layer_norm": _rows,
    "attention": _tokens,
    "expert_gemm": _experts,
    "tensor_burst": _whole,
    "tensor_chain": _whole,
}
