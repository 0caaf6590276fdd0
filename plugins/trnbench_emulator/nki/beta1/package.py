"""neuronxcc.nki: decorators of Beta 1, and the type of its tensors."""

from __future__ import annotations

from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.grid import jit
from trnbench_emulator.nki.beta1.simulation import SIMULATION
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.recorder_state import STATE

baremetal = benchmark = profile = trace = jit
tensor = mutable_tensor = Tile


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """The kernel's values; refused in a run, where which machine it should be is not known."""
    if SIMULATION.machine is not None and STATE.recorder is None:
        return jit(kernel)(*args, **kwargs)
    raise KernelError(
        f"nki.simulate_kernel was called ({site.here()})",
        cause="trnbench is the simulator: it runs the kernel itself",
        try_="trnbench nki run FILE.py::kernel --check numpy",
    )


__all__ = ["baremetal", "benchmark", "jit", "profile", "simulate_kernel", "tensor", "trace"]
