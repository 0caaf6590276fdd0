"""A piece of a kernel, its arguments, and what NumPy makes of them: compared, with values and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

RNG = np.random.default_rng(11)
X = RNG.standard_normal((32, 64)).astype(np.float32)
Y = RNG.standard_normal((32, 64)).astype(np.float32)
IDS = RNG.integers(0, 64, (32, 16)).astype(np.uint32)
ROWS = RNG.permutation(64)[:32].astype(np.int32).reshape(32, 1)
BIG = RNG.standard_normal((64, 48)).astype(np.float32)
FLAGS = (RNG.random((32, 64)) > 0.5).astype(np.uint8)
INTS = RNG.integers(0, 1 << 16, (32, 64)).astype(np.int32)
HALF = X.astype(ml_dtypes.bfloat16)
SEGMENTS = np.array([[0, 1, 1, 2, 2, 2, 0, 3]], np.int32)
Case = tuple[str, tuple[Any, ...], Callable[..., Any]]
"""The tensor `t` is what is compared; `IN` loads the arguments, `out` makes room."""
Run = Callable[[str, tuple[Any, ...], bool], Any]
"""A piece, its arguments and whether values are computed; gives the trace."""

IN = "x = nl.load(args[0]); y = nl.load(args[1]) if len(args) > 1 else None\n"


def out(shape: str = "x.shape", dtype: str = "nl.float32") -> str:
    return f"t = nl.ndarray({shape}, dtype={dtype})\n"


def matches_numpy(run: Run, case: Case) -> None:
    body, args, expected = case
    trace = run(body, args, True)
    got, want = trace.outputs[0], np.asarray(expected(*args))
    assert got.shape == want.shape
    tolerance = 2.0**-8 if got.dtype == ml_dtypes.bfloat16 else 2e-5
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=1e-5)


def issues_the_same_by_shapes(run: Run, case: Case) -> None:
    body, args, _ = case
    values, shapes = run(body, args, True), run(body, args, False)
    assert {op.key(): n for op, n in values.tally.items()} == {op.key(): n for op, n in shapes.tally.items()}
    assert values.output_specs == shapes.output_specs
