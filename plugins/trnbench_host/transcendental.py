"""Functions of arrays by NumPy, checked against the mathematics library element by element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from trnbench import Point, Program
from trnbench_host.threads import Place, at_once

if TYPE_CHECKING:
    from numpy.random import Generator

ULPS = 16
"""NumPy states at most 4 units in the last place for its vector loops; twice rounded, and then some."""


def prepare(point: Point, place: Place, rng: Generator) -> Program:
    """Random arguments between 0.1 and 3: no special values, no denormal results."""
    name, count = str(point["op"]), int(point["elements"])
    dtype = str(point["dtype"]).replace("fp", "float")
    function, reference = getattr(np, name), getattr(math, name)
    operands = [rng.uniform(0.1, 3.0, count).astype(dtype) for _ in place.processors]
    results = [np.empty_like(operand) for operand in operands]
    calls = [(lambda x=x, y=y: function(x, out=y)) for x, y in zip(operands, results, strict=True)]
    run, idle, close = at_once(place.processors, calls)
    looked = np.unique(np.linspace(0, count - 1, min(count, 256)).astype(int))
    eps = float(np.finfo(dtype).eps)

    def check(_: Any) -> str:
        for x, y in zip(operands, results, strict=True):
            for place in looked:
                wanted = reference(float(x[place]))
                if abs(float(y[place]) - wanted) > ULPS * eps * max(abs(wanted), eps):
                    # Near a zero of the function the argument's rounding is what is seen.
                    if abs(wanted) < 0.1 and abs(float(y[place]) - wanted) <= ULPS * eps:
                        continue
                    return f"{name}({float(x[place])!r}) is given as {float(y[place])!r}, it is {wanted!r}"
        return ""

    def smaller() -> Program:
        return prepare({**point, "elements": max(1, count // 4)}, place, rng)

    return Program(
        run=run,
        check=check,
        awaited="NumPy's loops return when the array is written; threads are joined by their queues",
        checked=f"{len(looked)} elements by the mathematics library of C, in double precision",
        amount=float(count),
        smaller=smaller,
        idle=idle,
        close=close,
        settings=place.describe(),
    )
