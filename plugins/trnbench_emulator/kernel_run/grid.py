"""How many programs a kernel is launched as, and whether a system has a core for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trnbench.bounded import kinds
from trnbench.errors import KernelError, UsageError, quoted
from trnbench.generation import System
from trnbench_emulator.nki.beta1.grid import Beta1Kernel, Dimension, nc
from trnbench_emulator.nki.jit import Kernel

EXAMPLE = "--grid 2"


def parse_grid(text: str) -> tuple[int, ...]:
    """`2`; of Beta 1 also `4x2`, and `nc2x4` where the first dimension is spread over two cores (nl.nc).

    Raises `UsageError`.
    """
    sizes = []
    for part in text.lower().split("x"):
        size = kinds.PROGRAMS.parsed(part.removeprefix("nc"))
        if size is None:
            raise UsageError(
                f"--grid {quoted(text)} cannot be read",
                cause="a grid is a number of programs; of Beta 1 several, nc before those spread over cores",
                try_=f"{EXAMPLE}, --grid 4x2 or --grid nc2x4",
            )
        sizes.append(nc(int(size)) if part.startswith("nc") else int(size))
    return tuple(sizes)


def launched(kernel: Any, sizes: Sequence[int]) -> Any:
    """`kernel[sizes]`: for kernels of today one number, for those of Beta 1 any grid.

    Raises `UsageError` for several numbers where the kernel takes one.
    """
    if isinstance(kernel, Beta1Kernel):
        return kernel[tuple(sizes)]
    function = getattr(kernel, "function", kernel)
    if len(sizes) != 1 or isinstance(sizes[0], Dimension):
        name = getattr(function, "__name__", type(function).__name__)
        shown = "x".join(f"nc{size}" if isinstance(size, Dimension) else str(size) for size in sizes)
        raise UsageError(
            f"kernel {name!r} takes no grid {shown}",
            cause="today's NKI launches a number of programs, each on a core; Beta 1 has grids of several",
            try_=EXAMPLE,
        )
    return Kernel(function, getattr(kernel, "options", {}), int(sizes[0]))


def programs_of(kernel: Any, system: System) -> int:
    """Cores that one launch of `kernel` takes: 1, those of a logical core, or those of a device.

    Raises `KernelError` where `system` has no place for as many.
    """
    count = int(getattr(kernel, "cores", 1))
    logical, device = min(system.logical_cores, system.cores_per_device), system.cores_per_device
    if count in (1, logical, device):
        return count
    name = getattr(getattr(kernel, "function", kernel), "__name__", type(kernel).__name__)
    both = f"the {logical} of a logical core, or the {device}" if logical > 1 else f"or the {device}"
    raise KernelError(
        f"kernel {name!r} is launched as {count:,} programs, for which {system.name} has no place",
        cause=f"all of them run at once, each on a core: 1, {both} of a device",
        try_=f"--grid {logical if logical > 1 else device}",
    )
