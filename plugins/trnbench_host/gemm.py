"""C = A·B by the BLAS behind NumPy, checked against rows computed in double precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trnbench import Point, Program
from trnbench_host.threads import Place

if TYPE_CHECKING:
    from numpy.random import Generator

ROWS = 8
"""Rows of the product that are computed again: a wrong tile anywhere in the contraction shows in them."""


def prepare(point: Point, place: Place, rng: Generator) -> Program:
    """Random matrices of values between -1 and 1."""
    n, dtype = int(point["size"]), str(point["dtype"]).replace("fp", "float")
    a = rng.uniform(-1.0, 1.0, (n, n)).astype(dtype)
    b = rng.uniform(-1.0, 1.0, (n, n)).astype(dtype)
    out = np.empty_like(a)
    rows = np.linspace(0, n - 1, min(ROWS, n)).astype(int)
    reference = np.einsum("ik,kj->ij", a[rows].astype(float), b.astype(float))
    unit = np.ones((1, 1), dtype=dtype)
    into = np.empty_like(unit)

    def run() -> Any:
        return np.matmul(a, b, out=out)

    def check(found: Any) -> str:
        # A sum of n products of numbers below 1, each rounded: n·eps bounds it, and √n·eps is usual.
        reach = n * float(np.finfo(dtype).eps) + 1e-12
        worst = float(np.max(np.abs(found[rows].astype(float) - reference)))
        if worst <= reach:
            return ""
        return f"rows {', '.join(map(str, rows))} are off by up to {worst:.3g}, more than {reach:.3g}"

    def smaller() -> Program:
        return prepare({**point, "size": max(1, n // 2)}, place, rng)

    return Program(
        run=run,
        check=check,
        awaited="numpy.matmul returns when the product is written",
        checked=f"{len(rows)} rows computed in double precision without the BLAS",
        amount=2.0 * n**3,
        smaller=smaller,
        idle=lambda: np.matmul(unit, unit, out=into),
        settings=place.describe(),
    )
