"""Data types as the documents call them, and the memory they take."""

from __future__ import annotations

from collections.abc import Sequence

from trnbench.errors import UnknownName
from trnbench.results.measurement import Value

_SCALE = 1 / 32  # an MX block: one 8-bit scale for 32 elements (OCP MX 1.0, section 5)

ITEM_BYTES: dict[str, float] = {
    "int8": 1.0,
    "fp8": 1.0,
    "cfp8": 1.0,
    "fp16": 2.0,
    "bf16": 2.0,
    "tf32": 4.0,  # 19 bits of meaning, kept in 32
    "fp32": 4.0,
    "fp64": 8.0,
    "mxfp8": 1.0 + _SCALE,
    "mxfp4": 0.5 + _SCALE,
}

FLOATS: tuple[Value, ...] = ("bf16", "fp16", "tf32", "fp32", "fp8", "cfp8", "mxfp8", "mxfp4")
"""Every floating-point type a document gives a matrix peak for."""

PLAIN: tuple[Value, ...] = ("bf16", "fp16", "fp32")
"""What the vector, scalar and gpsimd engines compute with."""


def item_bytes(dtype: object) -> float:
    """Bytes of one element in memory, its share of a block scale included.

    Raises `UnknownName` for a word that is no data type.
    """
    try:
        return ITEM_BYTES[str(dtype)]
    except KeyError:
        raise UnknownName("dtype", str(dtype), ITEM_BYTES) from None


def result_dtype(dtype: object) -> str:
    """What a matrix product of `dtype` operands is stored as."""
    word = str(dtype)
    if word == "int8":
        return "fp32"  # 32-bit integers: the same four bytes
    if word == "fp64":
        return word
    if word in ("tf32", "fp32"):
        return "fp32"
    return word if word in ("fp16", "bf16") else "bf16"


def needs(dtype: object, *instructions: str) -> Sequence[str]:
    """Requirements of a kernel on `dtype` that uses `instructions`."""
    return (f"dtype:{dtype}", *(f"instruction:{name}" for name in instructions))
