"""What the bursts and chains of one engine's instruction leave: its formula, as often as the device applies
it to its own result, each result rounded as it is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ENGINES = ("vector", "scalar", "gpsimd")
_CHAINS = frozenset(f"{engine}_chain" for engine in _ENGINES)
KERNELS = _CHAINS | {f"{engine}_burst" for engine in _ENGINES}
"""The kernels of `trnbench_kernels.nki.engines` that apply one instruction by its name."""


def repeated(kernel: str, tile: Any, op: str, count: int) -> Any:
    """`tile` (rows, columns) after `count` times `op`, in double precision; (rows, 1) after a reduction."""
    import numpy as np

    if op == "reduce":
        return tile.astype(np.float64).sum(axis=1, keepdims=True)
    apply, kept = _formula(op), tile.dtype
    with np.errstate(all="ignore"):
        # In a burst every instruction reads what was there before, however many they are.
        for _ in range(count if kernel in _CHAINS else 1):
            before, tile = tile, apply(tile.astype(np.float32)).astype(kept)
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
    import numpy as np

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
