"""C = A·B, one call for every data type; held against rows computed in double precision by NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import torch
from trnbench.kernels.kernel import Point
from trnbench.kernels.work import result_dtype
from trnbench_kernels.split import mnk
from trnbench_torch import data
from trnbench_torch.data import ROUNDOFF, torch_dtype
from trnbench_torch.device import Device, Launch

if TYPE_CHECKING:
    from numpy.random import Generator


ROWS = 8
"""Rows of the product that are computed again: a wrong tile anywhere in the contraction shows in them."""

SLICE = 2048  # rows of B that are looked at in double precision at a time


def prepare(point: Point, device: Device, rng: Generator) -> Launch:
    """Random matrices of values between -1 and 1; whole numbers from -4 to 4 for int8, so that sums fit."""
    m, n, k = mnk(point)
    return _launch(m, n, k, str(point["dtype"]), device, rng)


def _launch(m: int, n: int, k: int, dtype: str, device: Device, rng: Generator) -> Launch:
    a = _filled(device, rng, (m, k), dtype)
    b = _filled(device, rng, (k, n), dtype)
    rows = data.places(m, ROWS)
    wanted = _product(a, b, rows)
    # As small as takes the same way through the library: below 17³ oneDNN leaves bf16 to plain loops.
    unit = _filled(device, rng, (32, 32), dtype), _filled(device, rng, (32, 32), dtype)
    return Launch(
        call=multiply(a, b, dtype, device),
        check=lambda found: compare(data.exact_at(found, rows), wanted, k, dtype, rows),
        checked=f"{len(rows)} rows computed in double precision by NumPy",
        amount=2.0 * m * n * k,
        smaller=lambda: _launch(_half(m), _half(n), _half(k), dtype, device, rng),
        idle=multiply(*unit, dtype, device),
        settings={"torch_operator": OPERATORS.get(dtype, "torch.matmul")},
    )


OPERATORS = {"fp8": "torch._scaled_mm, scales of 1", "int8": "torch._int_mm"}


def multiply(a: Any, b: Any, dtype: str, device: Device) -> Callable[[], Any]:
    """The one call that is timed. `a` is [m, k], `b` [k, n]; both on `device`."""
    if dtype == "fp8":
        # The matrix units take the second operand column by column.
        columns = b.t().contiguous().t()
        scale = torch.ones((), dtype=torch.float32, device=device.torch_device)
        out = torch_dtype(result_dtype(dtype))
        return lambda: torch._scaled_mm(a, columns, scale, scale, out_dtype=out)
    if dtype == "int8":
        return lambda: torch._int_mm(a, b)
    into = data.empty(device, (a.shape[0], b.shape[1]), result_dtype(dtype))
    return lambda: torch.matmul(a, b, out=into)


def compare(found: Any, wanted: Any, k: int, dtype: str, rows: Any) -> str:
    """ "" where each element lies as near as its arithmetic allows.

    Accumulated in fp32 at least: k roundings of sums of at most k (worst case, Higham, Accuracy and
    Stability of Numerical Algorithms, section 3.1). TF32 rounds each operand as well, at random: eight
    standard deviations of √k products. Stored in `dtype`, and partial sums perhaps too. A product in
    TF32 is hundreds of times further away than fp32 allows.
    """
    if dtype == "int8":
        reach = np.zeros_like(wanted)
    else:
        accumulated = ROUNDOFF["fp64" if dtype == "fp64" else "fp32"]
        reach = 2.0 * k * accumulated + 4.0 * ROUNDOFF[result_dtype(dtype)] * (np.abs(wanted) + math.sqrt(k))
        if dtype == "tf32":
            reach = reach + 8.0 * math.sqrt(k) * ROUNDOFF["tf32"]
    off = np.abs(found - wanted)
    beyond = np.argmax(off - reach)
    if (off <= reach).all():
        return ""
    row, column = np.unravel_index(beyond, off.shape)
    return (
        f"row {int(rows[row])}, column {int(column)} is {found[row, column]:.6g}, it should be "
        f"{wanted[row, column]:.6g} within {reach[row, column]:.2g}"
    )


def _product(a: Any, b: Any, rows: Any) -> Any:
    """The rows of A·B in double precision, B a slice at a time."""
    operand = data.exact_at(a, rows)
    total = np.zeros((len(rows), b.shape[1]))
    for start in range(0, b.shape[0], SLICE):
        total += operand[:, start : start + SLICE] @ data.exact(b[start : start + SLICE])
    return total


def _filled(device: Device, rng: Generator, shape: tuple[int, int], dtype: str) -> Any:
    if dtype == "int8":
        return data.integers(device, rng, shape, dtype, 4)
    return data.uniform(device, rng, shape, dtype)


def _half(extent: int) -> int:
    """Half of it, a multiple of 16 where it was one: 8-bit types take nothing else."""
    if extent < 32:
        return max(1, extent // 2)
    return extent // 2 // 16 * 16
