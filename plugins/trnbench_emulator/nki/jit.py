"""nki.jit: marks a function as a kernel."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.recording import STATE

MOST_PROGRAMS = 2
"""Cores of a logical NeuronCore."""


class Simulation(msgspec.Struct):
    """What calls outside of a run do: refused without a `machine` that they are carried out for.

    `written`: the arguments that the last launch has written to. `timed` emulates a call's time.
    """

    machine: Machine | None = None
    carry_out: Callable[[Any, Sequence[Any], Mapping[str, Any]], Any] | None = None
    timed: Callable[[Any, Mapping[str, Any]], Any] | None = None
    written: list[int | str] = []
    calls: int = 0


SIMULATION = Simulation()


class Kernel:
    """A decorated kernel. Called from within another kernel it is inlined; it runs through `record`, and on
    arrays where calls are simulated."""

    def __init__(self, function: Callable[..., Any], grid: int = 0) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.grid = grid  # programs it is launched as, 0 when nothing was said
        self.cores = max(grid, 1)  # that it runs on at once

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if STATE.recorder is None:
            if SIMULATION.carry_out is not None:
                return SIMULATION.carry_out(self, args, kwargs)
            raise KernelError(
                f"kernel {self.function.__name__!r} was called outside a run ({site.here()})",
                cause="which machine it should be emulated on is not known",
                try_="trnbench nki exec SCRIPT, or trnbench.nki.record(kernel, args, machine=…)",
            )
        return self.function(*args, **kwargs)

    def __getitem__(self, grid: Any) -> Kernel:
        sizes = grid if isinstance(grid, tuple) else (grid,)
        if len(sizes) == 1 and isinstance(sizes[0], int) and 1 <= sizes[0] <= MOST_PROGRAMS:
            return Kernel(self.function, sizes[0])
        raise KernelError(
            f"kernel {self.function.__name__!r}: grid {list(sizes)} is not emulated ({site.here()})",
            cause="one program runs on one core, and a launch has the 1 or 2 cores of a logical core",
            try_="launch it with [1], [2], or without a grid",
        )


def jit(function: Callable[..., Any] | None = None, **_: Any) -> Any:
    """`@nki.jit` or `@nki.jit(mode=…)`. Options concern the compiler and are not used."""
    return Kernel if function is None else Kernel(function)
