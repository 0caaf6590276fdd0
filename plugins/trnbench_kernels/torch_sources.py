"""Which function carries out which kernel with torch. References only: torch is not imported here."""

from __future__ import annotations

import msgspec

from trnbench.kernels.kernel import Kernel

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


def with_torch(kernel: Kernel) -> Kernel:
    """The kernel, its implementation in torch beside the others; as it is where there is none."""
    own = {"torch": SOURCES[kernel.name]} if kernel.name in SOURCES else {}
    if kernel.name in DISTRIBUTED:
        own = {"torch-distributed": RANKS}
    return msgspec.structs.replace(kernel, implementations={**kernel.implementations, **own})
