"""The torch stack: one implementation of each kernel, carried out on a processor, a GPU or a NeuronCore.

A kernel prepares a `Launch`: what to call, how to check it. A device makes a `Program` of launches: how
the end is awaited, by which clock, what is flushed. Backends belong to whoever owns the machine: the
host plugin, the cuda plugin, and `trnbench_torch.neuron` for NeuronCores.

Nothing here imports torch before a case is prepared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import trnbench
from trnbench import Variant

if TYPE_CHECKING:
    from trnbench import Backend
    from trnbench.generation import Systems

_HOME = "trnbench_torch"
RANKS = f"{_HOME}.world:World"

SOURCES = {
    **dict.fromkeys(("gemm", "gemm_skinny", "gemm_ragged", "gemm_int8"), f"{_HOME}.kernels.gemm:prepare"),
    "hbm_read": f"{_HOME}.kernels.streams:read",
    "hbm_write": f"{_HOME}.kernels.streams:write",
    "hbm_copy": f"{_HOME}.kernels.streams:copy",
    "hbm_triad": f"{_HOME}.kernels.streams:triad",
    "softmax": f"{_HOME}.kernels.rows:softmax",
    "layer_norm": f"{_HOME}.kernels.rows:layer_norm",
    "rms_norm": f"{_HOME}.kernels.rows:rms_norm",
    "transpose": f"{_HOME}.kernels.rows:transpose",
    "attention": f"{_HOME}.kernels.attention:prepare",
    "vector_throughput": f"{_HOME}.kernels.elementwise:vector",
    "scalar_throughput": f"{_HOME}.kernels.elementwise:scalar",
    "vector_reciprocal": f"{_HOME}.kernels.elementwise:vector",
    "scalar_reciprocal": f"{_HOME}.kernels.elementwise:scalar",
    "host_to_device": f"{_HOME}.kernels.host_copy:host_to_device",
    "device_to_host": f"{_HOME}.kernels.host_copy:device_to_host",
}

DISTRIBUTED = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "permute",
    "point_to_point",
)
"""Kernels that take several ranks: a kind of its own, for a machine that has but one device."""


@trnbench.hookimpl
def trnbench_backends(systems: Systems) -> Iterator[Backend]:
    """Torch on Trainium and Inferentia2, where this machine has them and torch_neuronx."""
    from trnbench_torch.neuron import TorchNeuronBackend

    yield TorchNeuronBackend(systems)


@trnbench.hookimpl
def trnbench_kernels() -> Iterator[Variant]:
    """Which function carries out which kernel with torch; torch is not imported here."""
    for kernel, source in SOURCES.items():
        yield Variant(kernel=kernel, kind="torch", source=source)
    for kernel in DISTRIBUTED:
        yield Variant(kernel=kernel, kind="torch-distributed", source=RANKS)
