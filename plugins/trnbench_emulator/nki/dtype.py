"""NKI's data types: size, NumPy form, the word of documents, words of four small floats, random values."""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from trnbench.errors import KernelError, cut

Array: TypeAlias = npt.NDArray[Any]
Sizes: TypeAlias = tuple[int, ...]
"""Of dimensions, in elements; strides from one element to the next, too."""

# What a read of memory nobody wrote returns for types that have no NaN; the value is arbitrary
# but fixed, so that a kernel that reads it is wrong the same way every time.
UNSET_INTEGER = 4


class DType:
    """One data type. Compared by identity: `nl.bfloat16` is one object however it was asked for.

    `mantissa` is set where NumPy has no such type and values are rounded by hand (tfloat32).
    `packed` is the type of the four elements that an x4 type holds; its own values are bit patterns.
    """

    __slots__ = ("is_float", "mantissa", "name", "numpy", "packed", "size", "unset", "word")

    def __init__(
        self, name: str, word: str, numpy: npt.DTypeLike, mantissa: int = 0, packed: Any = None
    ) -> None:
        self.name = name
        self.word = word  # as in peak_flops facts: "bf16", "fp8"
        self.numpy = np.dtype(numpy)
        self.size = self.numpy.itemsize
        self.mantissa = mantissa
        self.packed = None if packed is None else np.dtype(packed)
        self.is_float = self.numpy.kind not in "iub"
        self.unset: float | int = float("nan") if self.is_float else UNSET_INTEGER

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's form: what np.dtype(nl.bfloat16) looks for."""
        return self.numpy

    @property
    def itemsize(self) -> int:
        """Bytes of an element, under NumPy's name."""
        return self.size

    def cast(self, values: Array) -> Array:
        """`values` rounded to this type, to nearest even; out of range becomes what the type has for it."""
        with np.errstate(all="ignore"):
            if self.mantissa:
                bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
                drop = 23 - self.mantissa
                half = np.uint32((1 << (drop - 1)) - 1)
                odd = (bits >> np.uint32(drop)) & np.uint32(1)
                rounded = (bits + half + odd) & np.uint32(0xFFFFFFFF ^ ((1 << drop) - 1))
                finite = np.isfinite(values)
                return np.where(finite, rounded.view(np.float32), values).astype(np.float32)
            if not self.is_float and values.dtype.kind not in "iub":
                # Floats become integers to nearest even, held at the ends of the range.
                if self.numpy.kind == "b":
                    return np.asarray(values != 0)
                info = np.iinfo(self.numpy)
                wide = np.rint(values.astype(np.float64))
                held: Array = np.clip(
                    np.nan_to_num(wide, nan=0.0, posinf=info.max, neginf=info.min), info.min, info.max
                )
                return held.astype(self.numpy)
            return values.astype(self.numpy)


DTYPES: dict[str, DType] = {
    kind.name: kind
    for kind in (
        DType("bool_", "bool", np.bool_),
        DType("int8", "int8", np.int8),
        DType("int16", "int16", np.int16),
        DType("int32", "int32", np.int32),
        DType("uint8", "uint8", np.uint8),
        DType("uint16", "uint16", np.uint16),
        DType("uint32", "uint32", np.uint32),
        DType("float16", "fp16", np.float16),
        DType("float32", "fp32", np.float32),
        DType("bfloat16", "bf16", ml_dtypes.bfloat16),
        DType("tfloat32", "tf32", np.float32, mantissa=10),
        DType("float8_e4m3", "fp8", ml_dtypes.float8_e4m3),
        DType("float8_e4m3fn", "fp8", ml_dtypes.float8_e4m3fn),
        DType("float8_e5m2", "fp8", ml_dtypes.float8_e5m2),
        DType("float8_e8m0fnu", "e8m0", ml_dtypes.float8_e8m0fnu),
        DType("float8_e5m2_x4", "mxfp8", np.uint32, packed=ml_dtypes.float8_e5m2),
        DType("float8_e4m3fn_x4", "mxfp8", np.uint32, packed=ml_dtypes.float8_e4m3fn),
        DType("float4_e2m1fn_x4", "mxfp4", np.uint16, packed=ml_dtypes.float4_e2m1fn),
    )
}

_BY_NUMPY = {kind.numpy: kind for kind in DTYPES.values() if not kind.mantissa and kind.packed is None}

# The documents' words, and which NKI type carries them. cFP8 has a configurable exponent bias;
# its four-bit-exponent form stands for it.
WORDS = {
    "bool": "bool_",
    "int8": "int8",
    "fp8": "float8_e4m3",
    "cfp8": "float8_e4m3",
    "fp16": "float16",
    "bf16": "bfloat16",
    "tf32": "tfloat32",
    "fp32": "float32",
    "mxfp8": "float8_e4m3fn_x4",
    "mxfp4": "float4_e2m1fn_x4",
}


def dtype_of(given: Any) -> DType:
    """The DType meant by a DType, a name ("bfloat16", "bf16") or a NumPy type.

    Raises `KernelError` for anything else.
    """
    if isinstance(given, DType):
        return given
    if isinstance(given, str) and given in DTYPES:
        return DTYPES[given]
    if isinstance(given, str) and given in WORDS:
        return DTYPES[WORDS[given]]
    if type(given).__module__ == "torch":
        given = str(given).removeprefix("torch.")
        given = DTYPES.get(given) or DTYPES.get(f"{given}_") or given
        if isinstance(given, DType):
            return given
    try:
        if isinstance(given, str) and not given.isprintable():
            raise ValueError(given)  # to NumPy a zero is a name
        return _BY_NUMPY[np.dtype(given)]
    except (TypeError, KeyError, ValueError, OverflowError, SyntaxError, RecursionError, MemoryError):
        # NumPy reads a language of its own, with numbers of Python in it.
        raise KernelError(
            f"{cut(repr(given))} is no data type that NKI kernels can use here",
            cause=f"known: {', '.join(DTYPES)}",
            try_="dtype=nl.bfloat16, for instance",
        ) from None


PACK = 4
"""Elements of a word."""


def pack(values: Array, kind: DType) -> Array:
    """Words of `kind` from values whose last axis is the four of one; rounded to nearest even."""
    with np.errstate(all="ignore"):
        narrow = np.ascontiguousarray(values.astype(kind.packed))
    parts = narrow.view(np.uint8).astype(kind.numpy)
    bits = 8 * kind.size // PACK
    shifts = np.arange(0, 8 * kind.size, bits, dtype=kind.numpy)
    return np.asarray(np.bitwise_or.reduce(parts << shifts, axis=-1))


def unpack(words: Array, kind: DType) -> Array:
    """The four elements of every word, as fp32 along a new last axis."""
    assert kind.packed is not None
    bits = 8 * kind.size // PACK
    shifts = np.arange(0, 8 * kind.size, bits, dtype=kind.numpy)
    parts = (words[..., None] >> shifts & kind.numpy.type((1 << bits) - 1)).astype(np.uint8)
    return np.asarray(parts.view(kind.packed).astype(np.float32))


def random_values(kind: DType, shape: Sizes, generator: np.random.Generator, most: int) -> Array:
    """Random numbers for an argument: normal floats (of words each of the four), scales of 1/2 to 2,
    integers below `most`."""
    if kind.packed is not None:
        return pack(generator.standard_normal((*shape, PACK), dtype=np.float32), kind)
    if kind.name == "float8_e8m0fnu":
        return kind.cast(np.exp2(generator.integers(-1, 2, shape)).astype(np.float32))
    if kind.is_float:
        return kind.cast(generator.standard_normal(shape, dtype=np.float32))
    return generator.integers(0, most, shape).astype(kind.numpy)
