"""A piece of a kernel, its arguments, and what NumPy makes of them: compared, with values and without."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

RNG = np.random.default_rng(11)
X = RNG.standard_normal((32, 64)).astype(np.float32)
Y = RNG.standard_normal((32, 64)).astype(np.float32)
IDS = RNG.integers(0, 64, (32, 16)).astype(np.uint32)
FLAGS = (RNG.random((32, 64)) > 0.5).astype(np.uint8)
ARGUMENTS: dict[str, Any] = {
    "x": X,
    "y": Y,
    "ids": IDS,
    "states": IDS[:, :6],
    "column": IDS[:, :1],
    "rows": RNG.permutation(64)[:32].astype(np.int32).reshape(32, 1),
    "big": RNG.standard_normal((64, 48)).astype(np.float32),
    "flags": FLAGS,
    "bits": FLAGS.astype(np.int32),
    "ints": RNG.integers(0, 1 << 16, (32, 64)).astype(np.int32),
    "picks": RNG.integers(0, 64, (32, 2)).astype(np.uint16),
    "half": X.astype(ml_dtypes.bfloat16),
    "other": Y.astype(ml_dtypes.bfloat16),
    "segments": np.array([[0, 1, 1, 2, 2, 2, 0, 3]], np.int32),
    "digits": np.array([[1, 2, 3, 4] + [8] * 7], np.float32),
    "eights": np.array([[3] + [8] * 7], np.float32),
}
"""By the name that a reference in NumPy gives its parameter."""

Case = tuple[str, tuple[Any, ...], Callable[..., Any]]
"""A piece of a kernel that makes the tensor `t`, its arguments, and what they come to in NumPy."""
Run = Callable[[str, tuple[Any, ...], bool], Any]
"""A piece, its arguments and whether values are computed; gives the trace."""


def case(piece: str, expected: Callable[..., Any], dtype: str = "nl.float32", *, load: bool = True) -> Case:
    """A piece that finds the first two arguments in `x` and `y`, and `t` made for what is expected.

    Without a `dtype` it makes `t` itself; without `load` it loads `args` itself.
    """
    args = tuple(ARGUMENTS[name] for name in inspect.signature(expected).parameters)
    if dtype:
        piece = f"t = nl.ndarray({np.asarray(expected(*args)).shape}, dtype={dtype})\n{piece}"
    loads = (f"{name} = nl.load(args[{at}])\n" for at, name in enumerate("xy"[: len(args)]))
    return ("".join(loads) if load else "") + piece, args, expected


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
