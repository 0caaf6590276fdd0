"""neuronxcc.nki and neuronxcc.nki.compiler: decorators of Beta 1, its tensors, buffers with an allocation."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from typing import Any

from trnbench.errors import KernelError
from trnbench.record import Record
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.grid import jit
from trnbench_emulator.nki.beta1.tile import CALLS, Tile
from trnbench_emulator.nki.dtype import dtype_of
from trnbench_emulator.nki.jit import SIMULATION, Kernel
from trnbench_emulator.nki.language import no_reorder as no_reorder
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.recording import STATE
from trnbench_emulator.nki.simulation import as_array
from trnbench_emulator.nki.trace import TensorSpec

FILES = ("save_neff_name", "save_trace_name")


class Latency:
    """Of a kernel on a core: emulated, so that every percentile is the same."""

    def __init__(self, run: Any) -> None:
        self.run = run
        self.evidence = run.evidence

    def get_latency_percentile(self, percentile: float) -> float:
        """Microseconds."""
        if not 0 <= percentile <= 100:
            raise KernelError(f"get_latency_percentile({percentile}): it takes 0 to 100 ({site.here()})")
        return round(float(self.run.latency_s * 1e6), 3)

    @property
    def band(self) -> tuple[float, float] | None:
        """Least and most microseconds to expect of the machine; None where nothing published stands near."""
        expected = self.run.expected_s
        return None if expected is None else (expected[0] * 1e6, expected[1] * 1e6)

    def __repr__(self) -> str:
        band = "" if self.band is None else f", {self.band[0]:.4g} to {self.band[1]:.4g} expected"
        return f"{self.run.latency_s * 1e6:.4g} µs {_grade(self.run)}{band}"


class BenchmarkResult:
    """What a script reads after the call; `run` has all that `trnbench nki run` says."""

    def __init__(self, run: Any) -> None:
        self.run = run
        self.evidence = run.evidence
        self.nc_latency = Latency(run)

    def __repr__(self) -> str:
        return f"BenchmarkResult({self.nc_latency!r})"


class TimedKernel:
    """A kernel whose calls are timed as well."""

    def __init__(self, kernel: Kernel, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, kernel)
        self.kernel = kernel
        self.options = options
        self.benchmark_result: BenchmarkResult | None = None

    def __getitem__(self, grid: Any) -> TimedKernel:
        return TimedKernel(self.kernel[grid], self.options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        assert SIMULATION.timed is not None
        bound = inspect.signature(self.kernel.function).bind(*args, **kwargs).arguments
        shapes = any(isinstance(value, TensorSpec) for value in bound.values())
        values = None if shapes else self.kernel(*args, **kwargs)
        run = SIMULATION.timed(self.kernel, {name: as_array(value) for name, value in bound.items()})
        self.benchmark_result = BenchmarkResult(run)
        self._write_files(run)
        return values

    def _write_files(self, run: Any) -> None:
        """Where a script asks for the compiler's program or a device's trace: a text that says what it is."""
        folder = Path(self.options.get("working_directory") or ".")
        text = f"{_grade(run)}: no device ran it, this is no NEFF and no trace\n{run!r}\n"
        for name in (self.options.get(option) for option in FILES):
            if name:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / str(name)).write_text(text, encoding="utf-8")


def _grade(run: Any) -> str:
    return f"emulated, model {run.evidence.version}"


CALLS["spec"] = lambda shape, dtype: TensorSpec(tuple(shape), dtype_of(dtype).name)
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
    return benchmark(function, **options) if "save_neff_name" in options else jit(function)


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """The kernel's values; refused in a run, where which machine it should be is not known."""
    if SIMULATION.machine is not None and STATE.recorder is None:
        return jit(kernel.kernel if isinstance(kernel, TimedKernel) else kernel)(*args, **kwargs)
    raise KernelError(
        f"nki.simulate_kernel was called ({site.here()})",
        cause="trnbench is the simulator: it runs the kernel itself",
        try_="trnbench nki run FILE.py::kernel --check numpy",
    )


class BufferAllocation(Record):
    """A buffer with an allocation: `sbuf.alloc(…)`, `sbuf.mod_alloc(…)`. Where tiles lie is not modelled."""

    buffer: Buffer

    def alloc(self, *args: Any, **named: Any) -> BufferAllocation:
        return self

    mod_alloc = auto_alloc = alloc


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
