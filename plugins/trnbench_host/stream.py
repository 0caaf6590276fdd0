"""STREAM's four loops in NumPy, one set of arrays for each core."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trnbench import Point, Program
from trnbench_host.threads import Place

if TYPE_CHECKING:
    from numpy.random import Generator

SCALAR = 3.0
_BLOCK = 1 << 16  # doubles drawn at random; larger arrays repeat them, so that filling takes no minutes


class Arrays(NamedTuple):
    """One core's."""

    a: Any
    b: Any
    c: Any


def copy(point: Point, place: Place, rng: Generator) -> Program:
    """c = a"""

    def loop(x: Arrays) -> Callable[[], Any]:
        return lambda: np.copyto(x.c, x.a)

    return _program(point, place, rng, loop, 2, lambda x: (x.c, x.a))


def scale(point: Point, place: Place, rng: Generator) -> Program:
    """b = s·c"""

    def loop(x: Arrays) -> Callable[[], Any]:
        return lambda: np.multiply(x.c, SCALAR, out=x.b)

    return _program(point, place, rng, loop, 2, lambda x: (x.b, SCALAR * x.c))


def add(point: Point, place: Place, rng: Generator) -> Program:
    """c = a + b"""

    def loop(x: Arrays) -> Callable[[], Any]:
        return lambda: np.add(x.a, x.b, out=x.c)

    return _program(point, place, rng, loop, 3, lambda x: (x.c, x.a + x.b))


def triad(point: Point, place: Place, rng: Generator) -> Program:
    """a = b + s·c"""

    def loop(x: Arrays) -> Callable[[], Any]:
        def call() -> Any:
            np.multiply(x.c, SCALAR, out=x.a)
            return np.add(x.a, x.b, out=x.a)

        return call

    # NumPy has no fused loop: it writes a twice and reads it once more than STREAM counts.
    notes = ("NumPy carries out the triad as two loops: 5 arrays pass through memory, 3 are counted",)
    return _program(point, place, rng, loop, 3, lambda x: (x.a, x.b + SCALAR * x.c), notes)


def _program(
    point: Point,
    place: Place,
    rng: Generator,
    loop: Callable[[Arrays], Callable[[], Any]],
    arrays: int,
    expected: Callable[[Arrays], tuple[Any, Any]],
    notes: tuple[str, ...] = (),
) -> Program:
    count = max(1, int(point["size"]) // 8)
    sets = [Arrays(*(_filled(count, rng) for _ in range(3))) for _ in place.processors]
    run, idle, close = place.at_once([loop(arrays_) for arrays_ in sets])
    # Places that are looked at: the whole of a long array would be a second benchmark.
    places = np.unique(np.linspace(0, count - 1, min(count, 4096)).astype(int))

    def check(_: Any) -> str:
        for number, arrays_ in enumerate(sets):
            outputs, wanted = expected(Arrays(*(array[places] for array in arrays_)))
            if not np.array_equal(outputs, wanted):
                at = int(places[np.flatnonzero(outputs != wanted)[0]])
                return f"element {at} of core {number} is not what the formula gives"
        return ""

    def smaller() -> Program:
        return _program({**point, "size": max(8, count * 2)}, place, rng, loop, arrays, expected)

    return Program(
        run=run,
        check=check,
        awaited="NumPy's loops return when the array is written; threads are joined by their queues",
        checked=f"{len(places)} elements by the formula, on every core",
        amount=float(arrays * count * 8 * len(sets)),
        smaller=smaller,
        idle=idle,
        close=close,
        settings=place.describe(),
        notes=notes,
    )


def _filled(count: int, rng: Generator) -> Any:
    block = rng.uniform(1.0, 2.0, min(count, _BLOCK))
    return np.resize(block, count)
