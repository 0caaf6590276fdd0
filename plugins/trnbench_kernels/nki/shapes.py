"""What kernels here take, for whoever runs them: names of data types, shapes of products, pieces of a length.

It needs no `nki`, so that all sources can import it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Tensor: TypeAlias = tuple[tuple[int, ...], str]
"""Sizes and data type."""

FLOATS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
"""Data types of points, by NKI's names for them."""

ITEM = {"float32": 4, "bfloat16": 2, "float16": 2}
"""Bytes of an element."""

_MULTIPLIED = {**FLOATS, "tf32": "tfloat32", "fp8": "float8_e4m3", "cfp8": "float8_e4m3"}


def product_inputs(point: Mapping[str, Any]) -> tuple[Tensor, Tensor] | None:
    """((shape, dtype), …) of lhsT and rhs; None for data types nc_matmul does not take."""
    if str(point["dtype"]) not in _MULTIPLIED or "sparsity" in point:
        return None
    m, n, k = (int(point.get(name, point.get("size", 0))) for name in ("m", "n", "k"))
    dtype = _MULTIPLIED[str(point["dtype"])]
    return ((k, m), dtype), ((k, n), dtype)


def product_pieces(
    inputs: tuple[Tensor, Tensor], rows: int, columns: int
) -> tuple[tuple[tuple[Tensor, Tensor], int], ...]:
    """Blocks of C: each is a product by itself, so a large one repeats a few smaller ones."""
    ((k, m), dtype), ((_, n), _) = inputs
    return tuple(
        ((((k, high), dtype), ((k, wide), dtype)), times_m * times_n)
        for wide, times_n in pieces_of(n, columns)
        for high, times_m in pieces_of(m, rows)
    )


def pieces_of(size: int, block: int) -> list[tuple[int, int]]:
    """(length, how many): whole blocks, and what is left."""
    whole, rest = divmod(size, block)
    return [(block, whole)] * (whole > 0) + [(rest, 1)] * (rest > 0)
