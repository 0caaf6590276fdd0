"""neuronxcc.nki: decorators of Beta 1, and the type of its tensors."""

from __future__ import annotations

from typing import Any

from trnbench.errors import KernelError
from trnbench.nki import site
from trnbench.nki.beta1.grid import jit
from trnbench.nki.beta1.tile import Tile

baremetal = benchmark = profile = trace = jit
tensor = Tile


def simulate_kernel(*_: Any, **__: Any) -> Any:
    """Refused: which machine it should run on is not known here."""
    raise KernelError(
        f"nki.simulate_kernel was called ({site.here()})",
        cause="trnbench is the simulator: it runs the kernel itself",
        try_="trnbench nki run FILE.py::kernel --check numpy",
    )


__all__ = ["baremetal", "benchmark", "jit", "profile", "simulate_kernel", "tensor", "trace"]
