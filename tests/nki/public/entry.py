"""A public kernel to try: where it is, what it is given, what it should give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

RNG = np.random.default_rng(0)
BF16 = ml_dtypes.bfloat16


class Entry(NamedTuple):
    """`folder`: what the checkout is called. `tolerance`: of the largest element, relative to the largest.
    `header` is what the repository's own harness puts before the file, `constants` what it sets in it,
    `imports` the folder of its own packages, `which` tells entries of one kernel apart.
    """

    folder: str
    kernel: str
    arguments: Callable[[], tuple[Any, ...]]
    reference: Callable[..., Any] | None
    grid: Any = None
    tolerance: float = 1e-4
    generation: str = "trn2"
    named: dict[str, Any] = {}
    header: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    imports: str = ""
    which: str = ""

    @property
    def id(self) -> str:
        return f"{self.folder}/{self.kernel}" + (f" [{self.which}]" if self.which else "")


def made(*shape: int, scale: float = 1.0, dtype: Any = np.float32) -> Any:
    return (RNG.standard_normal(shape) * scale).astype(dtype)


def positive(*shape: int) -> Any:
    return RNG.random(shape).astype(np.float32)
