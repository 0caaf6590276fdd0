"""A plugin whose kernels do as much as is asked of them: what a paired comparison is tried on.

`work` counts hundredths: 105 of it is 5 % more than 100. `planted_sleeper` waits and works elsewhere, so that
its thread's own clock sees nothing of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

import trnbench
from trnbench import Axis, Kernel, PrimaryMetric, Program, Scope, Work

if TYPE_CHECKING:
    from numpy.random import Generator

PREPARED = ("python", "product", "triad", "sleeper", "wrong", "torch_product")
BASE = 100


@trnbench.hookimpl
def trnbench_kernels() -> Iterator[Kernel]:
    for name in PREPARED:
        kind = "torch" if name.startswith("torch") else "numpy"
        yield Kernel(
            name=f"planted_{name}",
            family="planted",
            title=name,
            about="Does as much as is asked of it.",
            axes=(Axis(name="work", values=(BASE,), about="hundredths of the usual work"),),
            scopes=(Scope.CORE,),
            primary=PrimaryMetric(name="latency_s", unit="s", better="lower"),
            implementations={kind: "planted_torch:product" if kind == "torch" else f"{__name__}:{name}"},
            work=lambda point, extent: Work(),
            footprint=lambda point, extent: {"host": 1.0},
            requires=lambda point: (),
        )


def program(run: Callable[[], object], wrong: str = "") -> Program:
    return Program(run=run, check=lambda _: wrong, awaited="by its return", checked="nothing to check")


def python(point: dict[str, Any], place: Any, rng: Generator) -> Program:
    """Loops of pure Python."""
    count, table = int(point["work"]) * 20, {number: number for number in range(100)}

    def run() -> int:
        total = 0
        for number in range(count):
            total += table[number % 100]
        return total

    return program(run)


def product(point: dict[str, Any], place: Any, rng: Generator) -> Program:
    """Products of matrices by NumPy's BLAS."""
    count = int(point["work"])
    a, b = (rng.uniform(-1.0, 1.0, (64, 64)) for _ in range(2))
    out = np.empty_like(a)

    def run() -> None:
        for _ in range(count):
            np.matmul(a, b, out=out)

    return program(run)


def triad(point: dict[str, Any], place: Any, rng: Generator) -> Program:
    """STREAM's triad over three arrays of 4 MB."""
    count = int(point["work"]) * 5_000
    a, b, c = (np.resize(rng.uniform(1.0, 2.0, 1 << 16), count) for _ in range(3))

    def run() -> None:
        np.multiply(c, 3.0, out=a)
        np.add(a, b, out=a)

    return program(run)


def sleeper(point: dict[str, Any], place: Any, rng: Generator) -> Program:
    """Waits."""
    seconds = int(point["work"]) * 1e-5
    return program(lambda: time.sleep(seconds))


def wrong(point: dict[str, Any], place: Any, rng: Generator) -> Program:
    """Is not what it should be where there is more of it."""
    return program(lambda: None, "not what it should be" if int(point["work"]) > BASE else "")
