"""Words of four small floats: the x4 types, whose values NumPy sees as integers of 32 or 16 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trnbench_emulator.nki.dtype import DType

PACK = 4
"""Elements of a word."""


def pack(values: npt.NDArray[Any], kind: DType) -> npt.NDArray[Any]:
    """Words of `kind` from values whose last axis is the four of one; rounded to nearest even."""
    with np.errstate(all="ignore"):
        narrow = np.ascontiguousarray(values.astype(kind.packed))
    parts = narrow.view(np.uint8).astype(kind.numpy)
    bits = 8 * kind.size // PACK
    shifts = np.arange(0, 8 * kind.size, bits, dtype=kind.numpy)
    return np.asarray(np.bitwise_or.reduce(parts << shifts, axis=-1))


def unpack(words: npt.NDArray[Any], kind: DType) -> npt.NDArray[Any]:
    """The four elements of every word, as fp32 along a new last axis."""
    assert kind.packed is not None
    bits = 8 * kind.size // PACK
    shifts = np.arange(0, 8 * kind.size, bits, dtype=kind.numpy)
    parts = (words[..., None] >> shifts & kind.numpy.type((1 << bits) - 1)).astype(np.uint8)
    return np.asarray(parts.view(kind.packed).astype(np.float32))


def drawn(kind: DType, shape: tuple[int, ...], generator: np.random.Generator, most: int) -> npt.NDArray[Any]:
    """Random numbers for an argument: normal floats (of words each of the four), scales of 1/2 to 2,
    integers below `most`."""
    if kind.packed is not None:
        return pack(generator.standard_normal((*shape, PACK), dtype=np.float32), kind)
    if kind.name == "float8_e8m0fnu":
        return kind.cast(np.exp2(generator.integers(-1, 2, shape)).astype(np.float32))
    if kind.is_float:
        return kind.cast(generator.standard_normal(shape, dtype=np.float32))
    return generator.integers(0, most, shape).astype(kind.numpy)
