"""Kernels called on arrays outside of a run, as scripts and tests call them: their values, and times."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np

from trnbench_emulator.nki.jit import SIMULATION, Kernel
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.trace import record


@contextmanager
def simulating(
    machine: Machine, timed: Callable[[Any, Mapping[str, Any]], Any] | None = None
) -> Iterator[None]:
    """While open, calling a kernel computes its values for `machine`. `timed` emulates the time of a kernel
    from its arguments by name, for scripts that ask for it."""
    before = SIMULATION.machine, SIMULATION.carry_out, SIMULATION.timed
    SIMULATION.machine, SIMULATION.carry_out, SIMULATION.timed = machine, simulated, timed
    try:
        yield
    finally:
        SIMULATION.machine, SIMULATION.carry_out, SIMULATION.timed = before


def simulated(kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a kernel returns: one array, a tuple, or None; tensors of torch where it was given such. Those it
    was given to write to are written."""
    assert SIMULATION.machine is not None
    SIMULATION.written = []
    SIMULATION.calls += 1
    arrays = [as_array(value) for value in args]
    named = {name: as_array(value) for name, value in kwargs.items()}
    trace = record(kernel, arrays, named, machine=SIMULATION.machine, functional=True)
    if SIMULATION.written:
        for key, values in zip(SIMULATION.written, trace.outputs, strict=True):
            _write(args[key] if isinstance(key, int) else kwargs[key], values)
        return None
    tensors = any(_is_torch(value) for value in (*args, *kwargs.values()))
    outputs = tuple(_as_torch(values) if tensors else values for values in trace.outputs)
    if not outputs:
        return None
    return outputs[0] if len(outputs) == 1 else outputs


def simulate(kernel: Any) -> Callable[..., Any]:
    """`nki.simulate(kernel)(arrays)`."""
    return kernel if isinstance(kernel, Kernel) else Kernel(kernel)


def as_array(value: Any) -> Any:
    """Tensors of a framework as NumPy arrays, also in lists and tuples; other values as they are."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(map(as_array, value)) if type(value) in (list, tuple) else value
    if _is_torch(value):
        tensor = value.detach().cpu()
        if str(tensor.dtype) == "torch.bfloat16":  # NumPy knows no such type
            return tensor.view(sys.modules["torch"].int16).numpy().view(ml_dtypes.bfloat16)
        return tensor.numpy()
    return np.asarray(value) if hasattr(value, "__array__") and hasattr(value, "shape") else value


def _is_torch(value: Any) -> bool:
    return hasattr(value, "detach") and hasattr(value, "numpy")


def _as_torch(values: Any) -> Any:
    torch = sys.modules["torch"]
    if values.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(values))


def _write(argument: Any, values: Any) -> None:
    if isinstance(argument, np.ndarray):
        argument[...] = values.reshape(argument.shape)
    elif _is_torch(argument):
        argument.copy_(_as_torch(values).reshape(argument.shape))
