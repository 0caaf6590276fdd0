"""Device memory read, written, copied, added up: STREAM's loops as single operators of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import torch
from trnbench import Point, item_bytes
from trnbench_torch import data
from trnbench_torch.data import ROUNDOFF
from trnbench_torch.device import Device, Launch

if TYPE_CHECKING:
    from numpy.random import Generator


SCALAR = 3.0
PLACES = 4096
"""Elements that are looked at: the whole of a long array would be a second benchmark."""


def read(point: Point, device: Device, rng: Generator) -> Launch:
    """The sum of an array; values between 1 and 2, so that a part left out is missed."""
    count = _count(point, "fp32")
    a = data.uniform(device, rng, (count,), "fp32", 1.0, 2.0)
    wanted = _total(a)

    def check(found: Any) -> str:
        total = float(found)
        # Sums are made as trees or in lanes; 10⁻⁵ is more than they round and less than one block of a grid.
        if abs(total - wanted) <= 1e-5 * wanted:
            return ""
        return f"the sum is {total:.8g}, it should be {wanted:.8g}"

    return _launch(
        point, device, rng, read, lambda: torch.sum(a), check, 1, "the sum, in double precision by NumPy"
    )


def write(point: Point, device: Device, rng: Generator) -> Launch:
    """One random value, written everywhere."""
    value = float(rng.uniform(1.0, 2.0))
    a = data.uniform(device, rng, (_count(point, "fp32"),), "fp32")

    def check(found: Any) -> str:
        return _differing(found, lambda at: value + 0.0 * at, ROUNDOFF["fp32"] * 4)

    return _launch(point, device, rng, write, lambda: a.fill_(value), check, 1)


def copy(point: Point, device: Device, rng: Generator) -> Launch:
    """c = a"""
    a = data.uniform(device, rng, (_count(point, "fp32"),), "fp32")
    c = data.uniform(device, rng, tuple(a.shape), "fp32", 2.0, 3.0)

    def check(found: Any) -> str:
        return _differing(found, lambda at: data.exact_at(a, at), 0.0)

    return _launch(point, device, rng, copy, lambda: c.copy_(a), check, 2)


def triad(point: Point, device: Device, rng: Generator) -> Launch:
    """a = b + s·c"""
    dtype = str(point["dtype"])
    b, c = (data.uniform(device, rng, (_count(point, dtype),), dtype, 1.0, 2.0) for _ in range(2))
    a = data.empty(device, tuple(b.shape), dtype)

    def check(found: Any) -> str:
        def wanted(at: Any) -> Any:
            return data.exact_at(b, at) + SCALAR * data.exact_at(c, at)

        # Twice rounded, of numbers below 8.
        return _differing(found, wanted, 16.0 * ROUNDOFF[dtype])

    return _launch(point, device, rng, triad, lambda: torch.add(b, c, alpha=SCALAR, out=a), check, 3)


def _launch(
    point: Point,
    device: Device,
    rng: Generator,
    prepare: Callable[[Point, Device, Generator], Launch],
    call: Callable[[], Any],
    check: Callable[[Any], str],
    arrays: int,
    checked: str = f"{PLACES:,} elements by the formula, in double precision by NumPy",
) -> Launch:
    size = int(point["size"])
    src, dst = (data.uniform(device, rng, (1,), "fp32") for _ in range(2))
    return Launch(
        call=call,
        check=check,
        checked=checked,
        amount=float(arrays * size),
        smaller=lambda: prepare({**point, "size": max(64, size // 4)}, device, rng),
        idle=lambda: dst.copy_(src),
        memory=True,
    )


def _count(point: Point, dtype: str) -> int:
    return max(1, int(int(point["size"]) // item_bytes(dtype)))


def _differing(found: Any, wanted: Callable[[Any], Any], reach: float) -> str:
    places = data.places(found.numel(), PLACES)
    seen, exact = data.exact_at(found, places), wanted(places)
    wrong = np.flatnonzero(~(np.abs(seen - exact) <= reach))
    if not len(wrong):
        return ""
    first = wrong[0]
    return f"element {int(places[first])} is {seen[first]:.8g}, it should be {exact[first]:.8g}"


def _total(a: Any) -> float:
    """In double precision, a part at a time: an array may fill most of the memory."""
    stretch = 1 << 24
    return float(sum(data.exact(a[start : start + stretch]).sum() for start in range(0, a.numel(), stretch)))
