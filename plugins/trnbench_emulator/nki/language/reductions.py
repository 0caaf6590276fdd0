"""Reductions over the last free dimensions: nl.sum, nl.max, nl.mean, …"""

from __future__ import annotations

from collections.abc import Callable
from math import prod as product
from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import isa, site
from trnbench_emulator.nki.constraints import LAST_AXES, dimensions
from trnbench_emulator.nki.dtype import DTYPES, Sizes
from trnbench_emulator.nki.functions import FUNCTIONS, Function
from trnbench_emulator.nki.language.creation import ndarray, sbuf
from trnbench_emulator.nki.tensor import NkiTensor

_FP32 = DTYPES["float32"]


def axes_of(call: str, x: Any, axis: Any) -> tuple[int, ...]:
    """The dimensions meant by `axis`; raises `KernelError` unless they are the last free ones."""
    rank = len(x.shape)
    axes = dimensions(axis, rank)
    if not axes or 0 in axes or axes != tuple(range(rank - len(axes), rank)):
        raise KernelError(
            f"nl.{call}: axis {axis} of {x!r} is not made of the last free dimensions ({site.here()})",
            try_=LAST_AXES,
        )
    return axes


def left(x: Any, axes: tuple[int, ...], keepdims: bool) -> Sizes:
    """The sizes that a reduction over these dimensions leaves; a free one at least."""
    shape = x.shape[: len(x.shape) - len(axes)] + ((1,) * len(axes) if keepdims else ())
    return shape if len(shape) > 1 else (*shape, 1)


def _reduced(
    call: str,
    function: Function,
    x: NkiTensor,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    dst: NkiTensor | None = None,
) -> NkiTensor:
    axes = axes_of(call, x, axis)
    if dst is None:
        dst = ndarray(left(x, axes, keepdims), dtype or x.dtype, sbuf)
    isa.tensor_reduce(dst, function, x, axes)
    return dst


def _folding(name: str, function: str) -> Callable[[NkiTensor, Any, Any, bool], NkiTensor]:
    def fold(x: NkiTensor, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
        return _reduced(name, FUNCTIONS[function], x, axis, dtype, keepdims)

    fold.__name__ = fold.__qualname__ = name
    return fold


sum = _folding("sum", "add")
max = _folding("max", "maximum")
min = _folding("min", "minimum")
prod = _folding("prod", "multiply")


def all(x: NkiTensor, axis: Any, dtype: Any = None, *, _dst: NkiTensor | None = None) -> NkiTensor:
    """1 where every element differs from 0."""
    flags = ndarray(x.shape, _FP32, sbuf)
    isa.tensor_scalar(flags, x, FUNCTIONS["not_equal"], 0.0)
    return _reduced("all", FUNCTIONS["minimum"], flags, axis, dtype or x.dtype, False, _dst)


def mean(
    x: NkiTensor, axis: Any, dtype: Any = None, keepdims: bool = False, *, _dst: NkiTensor | None = None
) -> NkiTensor:
    """The sum in fp32, divided."""
    axes = axes_of("mean", x, axis)
    total = _reduced("mean", FUNCTIONS["add"], x, axis, _FP32, keepdims)
    dst = ndarray(total.shape, dtype or x.dtype, sbuf) if _dst is None else _dst
    isa.tensor_scalar(
        dst, total, FUNCTIONS["multiply"], 1.0 / product(x.shape[dimension] for dimension in axes)
    )
    return dst


def var(
    x: NkiTensor, axis: Any, dtype: Any = None, keepdims: bool = False, *, _dst: NkiTensor | None = None
) -> NkiTensor:
    """The mean of squared distances from the mean. Its result keeps the reduced dimensions, as NKI's does."""
    del keepdims
    axes = axes_of("var", x, axis)
    folded = grouped(x, axes)
    middle = mean(folded, 2, _FP32, True)
    apart = ndarray(folded.shape, _FP32, sbuf)
    isa.tensor_tensor(apart, folded, middle.broadcast(2, folded.shape[2]), FUNCTIONS["subtract"])
    squares = ndarray(folded.shape, _FP32, sbuf)
    isa.tensor_tensor(squares, apart, apart, FUNCTIONS["multiply"])
    return mean(squares, 2, dtype or x.dtype, True, _dst=_dst).reshape(left(x, axes, True))


def grouped(x: NkiTensor, axes: tuple[int, ...]) -> NkiTensor:
    """x as (partitions, what stays, what is reduced)."""
    shape = x.shape[1 : len(x.shape) - len(axes)]
    return x.reshape((x.shape[0], product(shape), product(x.shape[axis] for axis in axes)))
