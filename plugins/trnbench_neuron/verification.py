"""A second opinion on a result: its own check, mathematics, samples of it, or its source executed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from trnbench import Case, System, resolve
from trnbench_emulator.nki.problem import Source, beside, operations
from trnbench_neuron.settings import BETA1
from trnbench_neuron.tool import NoEvidence, WrongResult

SAMPLE_ROWS = 48
"""Rows, or elements, of a result that are computed."""

Parts: TypeAlias = Iterable[tuple[tuple[Any, ...], Any]]
"""Smaller problems of a kernel: its arguments, and what it made of them."""

Cut: TypeAlias = Callable[[Sequence[Any], Any], Parts]
"""(arguments, result) → parts of that problem."""


def known(ref: str) -> bool:
    """Whether `wrong` can tell of this kernel; only those of trnbench are known by their names."""
    package, _, name = ref.replace("::", ":", 1).rpartition(":")
    return package.startswith("trnbench_kernels.nki.") and (name in _CUTS or name in KERNELS)


def sample_wrong(ref: str, arguments: Sequence[Any], outputs: Sequence[Any]) -> str | None:
    """ "" or what is wrong; None where this kernel is not known here. Computed in double precision."""
    if not known(ref) or len(outputs) != 1:
        return None
    name, (result,) = ref.rpartition(":")[2], outputs
    if name in KERNELS:
        rows = _at(result.shape[0], 8)
        want = repeated(name, arguments[0][rows], *arguments[1:])
        return disagreement(want, _double(result[rows]), result.dtype.name)
    from trnbench_kernels.nki import references

    compute = getattr(references, name)
    parts = [
        (_double(compute(*map(wide, operands))), _double(sampled))
        for operands, sampled in _CUTS[name](arguments, result)
    ]
    wants, haves = zip(*parts, strict=True)
    return disagreement(_together(wants), _together(haves), result.dtype.name)


def _at(count: int, most: int = SAMPLE_ROWS) -> Any:
    """Positions all over `count`, the ends among them; the same ones each time."""
    if count <= most:
        return np.arange(count)
    drawn = np.random.default_rng(count).choice(count, size=most - 2, replace=False)
    return np.unique(np.concatenate([drawn, [0, count - 1]]))


def _double(value: Any) -> Any:
    return value.astype(np.float64) if isinstance(value, np.ndarray) else value


def wide(value: Any) -> Any:
    """Floats in double precision; integers may be the words of packed floats."""
    integral = isinstance(value, np.ndarray) and value.dtype.kind in "iub"
    return value if integral else _double(value)


def _together(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.stack(parts)


def _whole(arguments: Sequence[Any], result: Any) -> Parts:
    yield tuple(arguments), result


def _elementwise(arguments: Sequence[Any], result: Any) -> Parts:
    rows = _at(result.shape[0])
    yield tuple(argument[rows] for argument in arguments), result[rows]


def _rows(arguments: Sequence[Any], result: Any) -> Parts:
    """Each row of the first argument for itself; weights go with all of them."""
    x, *weights = arguments
    rows = _at(result.shape[0])
    yield (x[rows], *weights), result[rows]


def _columns(arguments: Sequence[Any], result: Any) -> Parts:
    rows = _at(result.shape[0])
    yield (arguments[0][:, rows],), result[rows]


def _last_chunk(arguments: Sequence[Any], result: Any) -> Parts:
    yield (arguments[0][-1:],), result


def _tokens(arguments: Sequence[Any], result: Any) -> Parts:
    """One query each. What a causal mask lets it see is all there is of its keys, so none is needed."""
    q, k, v, causal, *_ = arguments
    heads, _, tokens = q.shape
    for head in _at(heads, 4):
        for token in _at(tokens, 12):
            one, at, seen = slice(head, head + 1), slice(token, token + 1), token + 1 if causal else tokens
            yield (q[one, :, at], k[one, :, :seen], v[one, :seen], False), result[one, at]


def _experts(arguments: Sequence[Any], result: Any) -> Parts:
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


ROUNDINGS = 64
"""Units of round-off, of the result's own size, that an element may be off: sums have another order."""

# Unit round-off of what the result is stored in; for fp32 that of products of split operands.
UNIT = {"bfloat16": 2.0**-8, "float16": 2.0**-10, "float32": 2.0**-12}


def disagreement(want: Any, have: Any, dtype: str) -> str:
    """ "" or what differs. What is no finite number has to be the same one on both sides.

    Integers have no rounding: every one has to be the same.
    """
    if want.shape != have.shape:
        return f"shape {have.shape}, not {want.shape}"
    if dtype.startswith(("int", "uint")):
        differ = int((want != have).sum())
        return f"{differ:,} of {want.size:,} integers differ" if differ else ""
    finite = np.isfinite(want)
    if not (np.isfinite(have[finite]).all() and np.array_equal(want[~finite], have[~finite], equal_nan=True)):
        return "it is no finite number where it should be one, or the other way round"
    if not finite.any():
        return ""
    size = float(np.sqrt(np.mean(want[finite] ** 2))) or 1.0
    off = float(np.abs(want[finite] - have[finite]).max()) / size
    allowed = ROUNDINGS * UNIT.get(dtype, 2.0**-8)
    if off <= allowed:
        return ""
    return f"an element is {off:.3g} of its size off; rounding explains {allowed:.3g}"


EMULATED_LIMIT = 5e8
"""Operations up to which the result is recomputed by executing the kernel's source on this CPU."""

REFERENCE_LIMIT = 1 << 22
"""Elements of arguments and results up to which a kernel's reference is computed whole."""

ROWS = 64
"""Rows of a matrix product that are recomputed in full."""


def checked(
    source: Source, case: Case, system: System, inputs: Sequence[Any], outputs: Sequence[Any], kind: str
) -> str:
    """How the result was found right. Raises `WrongResult`, and `NoEvidence` where nothing tells."""
    differs, how = wrong(source, case, system, inputs, outputs, kind)
    if differs:
        raise WrongResult(f"the device computed something else: {differs}")
    if not how:
        large = f"it is too large to be computed here, and has no {source.function}_wrong"
        raise NoEvidence(
            "nothing checks this kernel's result, so a wrong one would pass",
            cause="" if kind == BETA1 else large,
            try_=f"def {source.function}_wrong(inputs, outputs): return '' or what is wrong",
        )
    return how


def wrong(
    source: Source,
    case: Case,
    system: System,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    kind: str = "nki",
) -> tuple[str, str]:
    """(what is wrong with the result, how that was found out); the second is "" where nothing could be.

    By `<kernel>_wrong(inputs, outputs)` beside the kernel, by the mathematics of a matrix product, by
    its reference, or by executing the kernel's source here.
    """
    own = getattr(beside(source.module, kind), f"{source.function}_wrong", None)
    if own is not None:
        return str(own(inputs, outputs)), f"{source.function}_wrong, beside the kernel"
    if case.kernel.family == "gemm" and len(inputs) in (2, 4) and len(outputs) == 1:
        left, right = inputs if len(inputs) == 2 else _unscaled(*inputs)
        return product_wrong(left, right, outputs[0]), "a random vector and full rows in double precision"
    if kind == BETA1:
        return "", ""
    sampled = sample_wrong(source.ref, (*inputs, *source.plain), outputs)
    if sampled is not None:
        return sampled, "elements drawn all over it, computed in double precision from the inputs"
    sampled = _by_reference(source, inputs, outputs)
    if sampled is not None:
        return sampled, f"{source.function}_reference, beside the kernel, in double precision"
    if operations(case) <= EMULATED_LIMIT:
        return _emulated_wrong(source, system, inputs, outputs), "its own source, executed on the host"
    return "", ""


def _by_reference(source: Source, inputs: Sequence[Any], outputs: Sequence[Any]) -> str | None:
    """ "" or what is wrong; None where the kernel has no reference, or one that would take long."""
    if sum(output.size for output in (*inputs, *outputs)) > REFERENCE_LIMIT:
        return None
    reference = resolve(getattr(beside(source.module, "nki"), f"{source.function}_reference", None))
    if reference is None:
        return None
    computed = reference(*map(wide, inputs), *source.plain)
    wanted = computed if isinstance(computed, tuple) else (computed,)
    return _differing(wanted, outputs, outputs, "reference")


def _differing(wanted: Sequence[Any], outputs: Sequence[Any], rounded: Sequence[Any], by: str) -> str:
    """ "" or the first result that differs; the types of `rounded` say what rounding explains."""
    if len(wanted) != len(outputs):
        return f"{len(outputs)} results, its {by} returns {len(wanted)}"
    for index, (want, got, typed) in enumerate(zip(wanted, outputs, rounded, strict=True)):
        exact, have = np.asarray(want).astype(np.float64), np.asarray(got).astype(np.float64)
        if differs := disagreement(exact, have, np.asarray(typed).dtype.name):
            return f"result {index}: {differs}"
    return ""


def _unscaled(left: Any, right: Any, left_scale: Any, right_scale: Any) -> tuple[Any, Any]:
    from trnbench_kernels.nki.references import unscaled

    return unscaled(left, left_scale), unscaled(right, right_scale)


def product_wrong(left: Any, right: Any, result: Any) -> str:
    """Is `result` leftᵀ·right? By Freivalds' check (a random vector), and some rows in full."""
    k, m = left.shape
    n = right.shape[1]
    if result.shape != (m, n):
        return f"the result has shape {result.shape}, not {(m, n)}"
    got = result.astype(np.float64)
    if not np.isfinite(got).all():
        return f"{int((~np.isfinite(got)).sum())} elements of the result are no finite numbers"
    epsilon = UNIT.get(result.dtype.name, 2.0**-8)
    scale = np.sqrt(k) * float(np.std(left.astype(np.float32))) * float(np.std(right.astype(np.float32)))
    generator = np.random.default_rng(0)
    signs = generator.choice([-1.0, 1.0], size=n)
    a, b = left.astype(np.float64), right.astype(np.float64)
    off = np.abs(got @ signs - a.T @ (b @ signs)).max() / (scale * np.sqrt(n))
    if off > 32 * epsilon:
        return f"times a random vector it is {off:.3g} of its size off; rounding explains {32 * epsilon:.3g}"
    rows = np.sort(generator.choice(m, size=min(ROWS, m), replace=False))
    off = np.abs(got[rows] - a[:, rows].T @ b).max() / scale
    if off > 16 * epsilon:
        return f"an element is {off:.3g} of its size off; rounding explains {16 * epsilon:.3g}"
    return ""


def _emulated_wrong(source: Source, system: System, inputs: Sequence[Any], outputs: Sequence[Any]) -> str:
    from trnbench_emulator.nki import Machine, load_kernel, provide, record

    kernel, _, _ = load_kernel(source.ref.replace("::", ":", 1), nki="trnbench")
    with provide("trnbench"):
        trace = record(kernel, [*inputs, *source.plain], machine=Machine.of(system), functional=True)
    return _differing(trace.outputs, outputs, trace.outputs, "source")


_ENGINES = ("vector", "scalar", "gpsimd")
_CHAINS = frozenset(f"{engine}_chain" for engine in _ENGINES)
KERNELS = _CHAINS | {f"{engine}_burst" for engine in _ENGINES}
"""The kernels of `trnbench_kernels.nki.engines` that apply one instruction by its name."""


def repeated(kernel: str, tile: Any, op: str, count: int) -> Any:
    """`tile` (rows, columns) after `count` times `op`, in double precision; (rows, 1) after a reduction."""
    if op == "reduce":
        return tile.astype(np.float64).sum(axis=1, keepdims=True)
    apply, dtype = _formula(op), tile.dtype
    with np.errstate(all="ignore"):
        # In a burst every instruction reads what was there before, however many they are.
        for _ in range(count if kernel in _CHAINS else 1):
            before, tile = tile, apply(tile.astype(np.float32)).astype(dtype)
            if np.array_equal(before, tile, equal_nan=True):
                break
    return tile.astype(np.float64)


def burst(tile: Any, op: str, count: int) -> Any:
    """What `vector_burst`, `scalar_burst` and `gpsimd_burst` leave."""
    return repeated("vector_burst", tile, op, count)


def chain(tile: Any, op: str, count: int) -> Any:
    """What `vector_chain`, `scalar_chain` and `gpsimd_chain` leave."""
    return repeated("vector_chain", tile, op, count)


def _formula(op: str) -> Callable[[Any], Any]:
    if op in ("copy", "tensor_tensor", "scan"):  # the larger of itself and itself, or of less and itself
        return lambda x: x
    if op == "scalar_tensor_tensor":
        return lambda x: np.maximum(x * np.float32(0.5), x)
    if op == "iota":
        return lambda x: np.broadcast_to(np.arange(x.shape[1], dtype=np.float32), x.shape)
    if op == "tensor_scalar":
        return lambda x: x * np.float32(0.5) + np.float32(1.0)
    if op == "reciprocal":
        return lambda x: np.float32(1.0) / x
    from trnbench_emulator.nki.functions import FUNCTIONS

    return FUNCTIONS[op].apply
