"""Element by element, one operator behind the other, on operands as small as a tile of SBUF."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from torch.nn.functional import gelu

import torch
from trnbench import Point, UsageError
from trnbench_torch import data
from trnbench_torch.data import ROUNDOFF
from trnbench_torch.device import Device, Launch

if TYPE_CHECKING:
    from numpy.random import Generator


T = TypeVar("T")

LANES = 128  # partitions, the rows of an operand
SCALE, SHIFT = 0.5, 0.25
PLACES = 64


def vector(point: Point, device: Device, rng: Generator) -> Launch:
    """copy, tensor_scalar (x·s + b), tensor_tensor (x + y), reduce (sum of a row), reciprocal."""
    x, y, out = _operands(point, device, rng)
    shift = torch.full((), SHIFT, dtype=x.dtype, device=x.device)
    into = torch.empty(LANES, dtype=x.dtype, device=x.device)
    steps: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
        "copy": (lambda: out.copy_(x), lambda x: x),
        "tensor_scalar": (lambda: torch.add(shift, x, alpha=SCALE, out=out), lambda x: SCALE * x + SHIFT),
        "tensor_tensor": (lambda: torch.add(x, y, out=out), lambda x: x + _seen(y)),
        "reduce": (lambda: torch.sum(x, dim=1, out=into), lambda x: x.sum(axis=1)),
        "reciprocal": (lambda: torch.reciprocal(x, out=out), lambda x: 1.0 / x),
    }
    return _launch(point, device, rng, vector, *_chosen(steps, point), x)


def scalar(point: Point, device: Device, rng: Generator) -> Launch:
    """copy, and f(x·s + b) for everything else: two operators of torch to an activation."""
    x, _, out = _operands(point, device, rng)
    shift = torch.full((), SHIFT, dtype=x.dtype, device=x.device)

    def scaled() -> Any:
        return torch.add(shift, x, alpha=SCALE, out=out)

    def exact_gelu(x: Any) -> Any:
        return 0.5 * x * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))

    steps: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
        "copy": (lambda: out.copy_(x), lambda x: x),
        "exp": (lambda: torch.exp(scaled(), out=out), lambda x: np.exp(SCALE * x + SHIFT)),
        "gelu": (lambda: gelu(scaled()), lambda x: exact_gelu(SCALE * x + SHIFT)),
        "reciprocal": (lambda: torch.reciprocal(scaled(), out=out), lambda x: 1.0 / (SCALE * x + SHIFT)),
    }
    return _launch(point, device, rng, scalar, *_chosen(steps, point), x)


def _operands(point: Point, device: Device, rng: Generator) -> tuple[Any, Any, Any]:
    shape, dtype = (LANES, int(point["elements"])), str(point["dtype"])
    # Away from zero: no reciprocal of it, no result that is all rounding.
    x, y = (data.uniform(device, rng, shape, dtype, 0.25, 1.25) for _ in range(2))
    return x, y, data.empty(device, shape, dtype)


def _chosen(steps: Mapping[str, T], point: Point) -> T:
    op = str(point["op"])
    if op not in steps:
        raise UsageError(
            f"torch has no operator here for {op!r}",
            cause=f"this kernel knows {', '.join(steps)} in torch",
            try_="another one with -a op=",
        )
    return steps[op]


def _seen(operand: Any) -> Any:
    return data.exact_at(operand, data.places(LANES, PLACES))


def _launch(
    point: Point,
    device: Device,
    rng: Generator,
    prepare: Callable[[Point, Device, Generator], Launch],
    step: Callable[[], Any],
    formula: Callable[[Any], Any],
    x: Any,
) -> Launch:
    count, dtype = int(point["instructions"]), str(point["dtype"])
    rows = data.places(LANES, PLACES)
    wanted = formula(_seen(x))
    summed = wanted.ndim == 1

    def call() -> Any:
        found = None
        for _ in range(count):
            found = step()
        return found

    def check(found: Any) -> str:
        seen = _seen(found)
        # Rounded two or three times; a sum of n in fp32 first.
        reach = 6.0 * ROUNDOFF[dtype] * (np.abs(wanted) + 1.0) + (
            int(point["elements"]) * ROUNDOFF["fp32"] if summed else 0.0
        )
        wrong = np.argwhere(~(np.abs(seen - wanted) <= reach))
        if not len(wrong):
            return ""
        first = tuple(wrong[0])
        return (
            f"element {[int(each) for each in first]} is {seen[first]:.6g}, it should be {wanted[first]:.6g}"
        )

    src, dst = x[:1, :1].clone(), x[:1, :1].clone()
    return Launch(
        call=call,
        check=check,
        checked=f"{len(rows)} rows by the formula, in double precision by NumPy",
        amount=float(count),
        smaller=lambda: prepare({**point, "instructions": max(1, count // 4)}, device, rng),
        idle=lambda: dst.copy_(src),
    )
