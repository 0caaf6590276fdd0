"""The planted product of `planted_kernels` by torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from trnbench_torch.device import Launch

if TYPE_CHECKING:
    from numpy.random import Generator


def product(point: dict[str, Any], device: Any, rng: Generator) -> Launch:
    """Products of matrices by torch, on the processor."""
    count = int(point["work"])
    a, b = (torch.from_numpy(rng.uniform(-1.0, 1.0, (64, 64))) for _ in range(2))
    out = torch.empty_like(a)

    def call() -> Any:
        for _ in range(count):
            torch.matmul(a, b, out=out)
        return out

    return Launch(
        call=call,
        check=lambda _: "",
        checked="nothing to check",
        amount=float(count),
        smaller=lambda: product({**point, "work": 1}, device, rng),
        idle=call,
    )
