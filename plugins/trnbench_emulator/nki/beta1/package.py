"""neuronxcc.nki and neuronxcc.nki.compiler: decorators of Beta 1, its tensors, buffers with an allocation."""

from __future__ import annotations

from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.benchmark import TimedKernel
from trnbench_emulator.nki.beta1.grid import jit
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.jit import SIMULATION
from trnbench_emulator.nki.language import no_reorder as no_reorder
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.recording import STATE

tensor = mutable_tensor = Tile
mutable = "mutable"
"""`tensor[mutable]` annotates what a kernel writes to."""

trace = jit


def benchmark(function: Any = None, **options: Any) -> Any:
    """`@nki.benchmark(…)`, `nki.baremetal(…)`, `nki.profile(…)`: mark a kernel. In a script its calls are
    timed as well, and `benchmark_result` has the emulated time."""
    if function is None:
        return lambda each: benchmark(each, **options)
    kernel = jit(function.kernel if isinstance(function, TimedKernel) else function)
    return kernel if SIMULATION.timed is None else TimedKernel(kernel, options)


profile = benchmark


def baremetal(function: Any = None, **options: Any) -> Any:
    """As `benchmark`, where files are asked for; else the kernel alone, whose calls give values."""
    return benchmark(function, **options) if "save_neff_name" in options else jit(function, **options)


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """The kernel's values; refused in a run, where which machine it should be is not known."""
    if SIMULATION.machine is not None and STATE.recorder is None:
        return jit(kernel.kernel if isinstance(kernel, TimedKernel) else kernel)(*args, **kwargs)
    raise KernelError(
        f"nki.simulate_kernel was called ({site.here()})",
        cause="trnbench is the simulator: it runs the kernel itself",
        try_="trnbench nki run FILE.py::kernel --check numpy",
    )


class BufferAllocation:
    """A buffer with an allocation: `sbuf.alloc(…)`, `sbuf.mod_alloc(…)`. Where tiles lie is not modelled."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer

    def alloc(self, *args: Any, **named: Any) -> BufferAllocation:
        return self

    def mod_alloc(self, *args: Any, **named: Any) -> BufferAllocation:
        return self

    def auto_alloc(self, *args: Any, **named: Any) -> BufferAllocation:
        return self


sbuf, psum = BufferAllocation(Buffer.SBUF), BufferAllocation(Buffer.PSUM)


def _unchanged(function: Any = None, **_: Any) -> Any:
    return (lambda each: each) if function is None else function


skip_middle_end_transformations = _unchanged
enable_stack_allocator = _unchanged
force_auto_alloc = _unchanged


__all__ = ["baremetal", "benchmark", "jit", "profile", "simulate_kernel", "tensor", "trace"]

COMPILER = (
    "enable_stack_allocator", "force_auto_alloc", "no_reorder", "psum", "sbuf",
    "skip_middle_end_transformations",
)  # fmt: skip
"""Names of neuronxcc.nki.compiler."""
