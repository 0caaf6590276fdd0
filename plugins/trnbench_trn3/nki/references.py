"""What the kernels of microscaled operands compute, in plain NumPy.

Each function takes the kernel's arguments in their order, floats as float32 or float64, computes in that
precision and is named like the kernel.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from trnbench import unscaled

Array: TypeAlias = npt.NDArray[Any]


def gemm_mx_best(left: Array, right: Array, left_scale: Array, right_scale: Array) -> Array:
    """leftᵀ · right of words of four small floats, each group of eight words times its scale."""
    return np.asarray(unscaled(left, left_scale).T @ unscaled(right, right_scale))


gemm_mx_blocked = gemm_mx_naive = gemm_mx_best


def tensor_mx_burst(
    stationary: Array,
    moving: Array,
    stationary_scale: Array,
    moving_scale: Array,
    count: int,  # noqa: ARG001
) -> Array:
    """The product of microscaled tiles, however often."""
    return gemm_mx_best(stationary, moving, stationary_scale, moving_scale)


def quantize_burst(x: Array, count: int) -> tuple[Array, Array]:  # noqa: ARG001
    """Words of four E4M3 and the exponents of their scales: of the largest of 8 rows × 4 neighbours, that it
    lies one binary place below the largest E4M3 has."""
    groups = x.astype(np.float64).reshape(len(x) // 8, 8, -1, 4)
    largest = np.abs(groups).max(axis=(1, 3))
    _, places = np.frexp(largest)
    exponent = np.where(largest > 0, places - 1 - 7, -127)
    narrow = (groups / np.exp2(exponent)[:, None, :, None]).astype(ml_dtypes.float8_e4m3fn)
    words = np.ascontiguousarray(narrow.reshape(len(x), -1, 4)).view("<u4")[..., 0]
    return words, (exponent + 127).astype(np.uint8)
