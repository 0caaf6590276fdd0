"""Shapes of products of microscaled operands, for whoever runs them; it needs no `nki`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Tensor: TypeAlias = tuple[tuple[int, int], str]
"""Sizes and data type."""

Operands: TypeAlias = tuple[Tensor, Tensor, Tensor, Tensor]
"""Words of either operand, then their scales."""

TYPES = {"mxfp8": "float8_e4m3fn_x4", "mxfp4": "float4_e2m1fn_x4"}
SCALE = "float8_e8m0fnu"
GROUP = 8  # words that share a scale: 32 elements
_ALIGNED = 128  # of the contraction: words in whole quadrants


def product_inputs(point: Mapping[str, Any]) -> Operands | None:
    """((shape, dtype), …) of both operands and their scales.

    None for other types, where K is no multiple of 128, and for an odd number of rows.
    """
    if str(point["dtype"]) not in TYPES or "sparsity" in point:
        return None
    m, n, k = (int(point.get(name, point.get("size", 0))) for name in ("m", "n", "k"))
    if k % _ALIGNED or m % 2:
        return None
    return _operands(k // 4, m, n, TYPES[str(point["dtype"])])


def product_pieces(inputs: Operands, rows: int, columns: int) -> tuple[tuple[Operands, int], ...]:
    """Blocks of C: each is a product by itself, so a large one repeats a few smaller ones."""
    ((words, m), dtype), ((_, n), _) = inputs[:2]
    return tuple(
        (_operands(words, high, wide, dtype), times_m * times_n)
        for wide, times_n in _pieces_of(n, columns)
        for high, times_m in _pieces_of(m, rows)
    )


def _operands(words: int, m: int, n: int, dtype: str) -> Operands:
    scales = words // GROUP
    return ((words, m), dtype), ((words, n), dtype), ((scales, m), SCALE), ((scales, n), SCALE)


def _pieces_of(size: int, block: int) -> list[tuple[int, int]]:
    """(length, how many): whole blocks, and what is left."""
    whole, rest = divmod(size, block)
    return [(block, whole)] * (whole > 0) + [(rest, 1)] * (rest > 0)
