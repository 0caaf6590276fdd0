"""Kernels of Beta 1 called like functions, on arrays: what their public tests do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from trnbench_emulator.nki.machine import Machine


class _Simulation:
    """The machine that calls outside of a run are carried out for, None where that is refused."""

    __slots__ = ("machine", "written")

    def __init__(self) -> None:
        self.machine: Machine | None = None
        self.written: list[int | str] = []  # arguments that the last launch has written to


SIMULATION = _Simulation()


@contextmanager
def simulating(machine: Machine) -> Iterator[None]:
    """While open, calling a kernel (or nki.simulate_kernel) computes its values for `machine`."""
    before = SIMULATION.machine
    SIMULATION.machine = machine
    try:
        yield
    finally:
        SIMULATION.machine = before


def simulated(kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The arrays a kernel returns: one, a tuple, or None. Arrays it was given to write to are written."""
    from trnbench_emulator.nki.trace import record

    assert SIMULATION.machine is not None
    SIMULATION.written = []
    trace = record(kernel, args, kwargs, machine=SIMULATION.machine, functional=True)
    if SIMULATION.written:
        for key, values in zip(SIMULATION.written, trace.outputs, strict=True):
            given = args[key] if isinstance(key, int) else kwargs[key]
            if isinstance(given, np.ndarray):
                given[...] = values.reshape(given.shape)
        return None
    return trace.outputs[0] if len(trace.outputs) == 1 else trace.outputs
