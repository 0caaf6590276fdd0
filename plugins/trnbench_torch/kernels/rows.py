"""Softmax, layer norm, RMS norm and the transpose: read once, written once, a little work between."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from torch.nn import functional

import torch
from trnbench.kernels.kernel import Point
from trnbench_torch import data
from trnbench_torch.data import ROUNDOFF
from trnbench_torch.device import Device, Launch

if TYPE_CHECKING:
    from numpy.random import Generator


ROWS = 8
EPSILON = 1e-5


def softmax(point: Point, device: Device, rng: Generator) -> Launch:
    """[rows, columns] of values between -4 and 4."""
    x = _rows(point, device, rng)
    out = torch.empty_like(x)

    def wanted(rows: Any) -> Any:
        power = np.exp(rows - rows.max(axis=1, keepdims=True))
        return power / power.sum(axis=1, keepdims=True)

    def call(x: Any = x, out: Any = out) -> Any:
        return torch.softmax(x, dim=-1, out=out)

    unit = x[:1, :1].contiguous()
    small = torch.empty_like(unit)
    return _launch(point, device, rng, softmax, call, lambda: call(unit, small), x, wanted)


def layer_norm(point: Point, device: Device, rng: Generator) -> Launch:
    """With a weight and a bias for each column."""
    x = _rows(point, device, rng)
    columns = int(point["columns"])
    weight, bias = (data.uniform(device, rng, (columns,), str(point["dtype"])) for _ in range(2))

    def wanted(rows: Any) -> Any:
        centred = rows - rows.mean(axis=1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON)
        return centred / scale * data.exact(weight) + data.exact(bias)

    def call(x: Any = x) -> Any:
        return functional.layer_norm(x, (columns,), weight, bias, EPSILON)

    unit = x[:1]
    return _launch(point, device, rng, layer_norm, call, lambda: call(unit), x, wanted)


def rms_norm(point: Point, device: Device, rng: Generator) -> Launch:
    """With a weight for each column."""
    x = _rows(point, device, rng)
    columns = int(point["columns"])
    weight = data.uniform(device, rng, (columns,), str(point["dtype"]))

    def wanted(rows: Any) -> Any:
        scale = np.sqrt((rows**2).mean(axis=1, keepdims=True) + EPSILON)
        return rows / scale * data.exact(weight)

    def call(x: Any = x) -> Any:
        return functional.rms_norm(x, (columns,), weight, EPSILON)

    unit = x[:1]
    return _launch(point, device, rng, rms_norm, call, lambda: call(unit), x, wanted)


def transpose(point: Point, device: Device, rng: Generator) -> Launch:
    """[size, size] into rows of what were columns."""
    side, dtype = int(point["size"]), str(point["dtype"])
    x = data.uniform(device, rng, (side, side), dtype)
    out = data.empty(device, (side, side), dtype)
    places = data.places(side, ROWS)

    def check(found: Any) -> str:
        seen, wanted = data.exact_at(found, places), data.exact_at(x.t(), places)
        if np.array_equal(seen, wanted):
            return ""
        row, column = np.argwhere(seen != wanted)[0]
        return f"row {int(places[row])}, column {int(column)} is not the element of the other row and column"

    src, dst = x[:1, :1].clone(), out[:1, :1].clone()
    return Launch(
        call=lambda: out.copy_(x.t()),
        check=check,
        checked=f"{len(places)} rows, element by element",
        amount=float(side * side),
        smaller=lambda: transpose({**point, "size": max(1, side // 2)}, device, rng),
        idle=lambda: dst.copy_(src),
        memory=True,
    )


def _rows(point: Point, device: Device, rng: Generator) -> Any:
    shape = int(point["rows"]), int(point["columns"])
    return data.uniform(device, rng, shape, str(point["dtype"]), -4.0, 4.0)


def _launch(
    point: Point,
    device: Device,
    rng: Generator,
    prepare: Callable[[Point, Device, Generator], Launch],
    call: Callable[[], Any],
    idle: Callable[[], Any],
    x: Any,
    wanted: Callable[[Any], Any],
) -> Launch:
    rows, dtype = int(point["rows"]), str(point["dtype"])
    places = data.places(rows, ROWS)
    exact = wanted(data.exact_at(x, places))

    def check(found: Any) -> str:
        seen = data.exact_at(found, places)
        # Reduced in fp32, scaled and stored in `dtype`: a few roundings of it.
        reach = 8.0 * ROUNDOFF[dtype] * (np.abs(exact) + np.abs(exact).max() / 16.0) + 64 * ROUNDOFF["fp32"]
        wrong = np.argwhere(~(np.abs(seen - exact) <= reach))
        if not len(wrong):
            return ""
        row, column = wrong[0]
        return (
            f"row {int(places[row])}, column {int(column)} is {seen[row, column]:.6g}, it should be "
            f"{exact[row, column]:.6g}"
        )

    return Launch(
        call=call,
        check=check,
        checked=f"{len(places)} rows computed in double precision by NumPy",
        amount=float(rows) * int(point["columns"]),
        smaller=lambda: prepare({**point, "rows": max(1, rows // 4)}, device, rng),
        idle=idle,
        memory=True,
    )
