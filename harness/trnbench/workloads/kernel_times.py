"""How long a kernel takes inside a compiled graph: asked of the one model of kernels, once for each shape."""

from __future__ import annotations

from typing import Any

import msgspec

from trnbench.emulator.clock import seconds
from trnbench.emulator.core.launch import Launch
from trnbench.emulator.core.model import KernelModel
from trnbench.emulator.core.pace import NOTHING_REMOVED, Without
from trnbench.generation import System
from trnbench.nki import TensorSpec
from trnbench.nki.load import load_kernel
from trnbench.nki.provide import provide

LIMIT = 500_000
"""Instructions of one kernel, as of a case."""

_TRANSFERS = frozenset({"load ring", "store ring", "scalar ring", "gpsimd ring"})
_HERE = "trnbench.kernels.nki."


class KernelTime(msgspec.Struct, frozen=True):
    """Seconds of one call, the launch of a program left out: `all` of it, `memory` of that because transfers
    take time."""

    all: float
    memory: float


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel at the shape of a rank. `source`: file and name below kernels/nki, or a reference of a user's.

    `inputs`: ((size, …), dtype) for a tensor. `times`: how often it runs, one after the other, which may be
    a part (experts that are met on average). `stays`: its activations are in SBUF, and what it makes of them
    remains there. `weights`: it also reads what lies in HBM.
    """

    source: str
    inputs: tuple[Any, ...]
    times: float = 1.0
    stays: bool = False
    weights: bool = True


class KernelTimes:
    """Loads each kernel once, and times each call once."""

    def __init__(self, kernels: KernelModel | None = None) -> None:
        self.kernels = kernels or KernelModel()
        self._loaded: dict[str, tuple[Any, Any]] = {}
        self._known: dict[tuple[Any, ...], KernelTime] = {}

    def time(self, call: Call, system: System, cores: int) -> KernelTime:
        """Of one of its `times`, with `cores` of the device at work alike. Raises `KernelError`.

        What stays in SBUF is neither stored nor, where nothing else is read, loaded: these transfers take no
        time. `memory` is the difference to an emulation without any transfer.
        """
        key = (call.source, call.inputs, call.stays, call.weights, cores, id(self.kernels.table(system)))
        if key not in self._known:
            whole = self._seconds(call, system, cores, _stays(call))
            bare = self._seconds(call, system, cores, Without(queues=_TRANSFERS, hbm=True))
            self._known[key] = KernelTime(all=whole, memory=max(whole - bare, 0.0))
        return self._known[key]

    def _seconds(self, call: Call, system: System, cores: int, without: Without) -> float:
        kernel, module = self._kernel(call.source)
        cut = getattr(module, f"{call.source.rpartition(':')[2]}_pieces", None)
        pieces = cut(call.inputs) if cut is not None else ()
        launch = Launch(cores=cores, limit=LIMIT, without=without, explain=False)
        parts = tuple((_arguments(part), times) for part, times in pieces)
        with provide("trnbench"):
            timing = self.kernels.time(kernel, _arguments(call.inputs), system, launch, parts=parts)
        return seconds(timing.total)

    def _kernel(self, source: str) -> tuple[Any, Any]:
        if source not in self._loaded:
            ref = source if "::" in source else _HERE + source
            kernel, module, _ = load_kernel(ref, nki="trnbench")
            self._loaded[source] = (kernel, module)
        return self._loaded[source]


def _stays(call: Call) -> Without:
    if not call.stays:
        return NOTHING_REMOVED
    if call.weights:
        return Without(queues=frozenset({"store ring"}))
    return Without(queues=_TRANSFERS, hbm=True)


def _arguments(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(TensorSpec(tuple(each[0]), each[1]) if isinstance(each, tuple) else each for each in inputs)
