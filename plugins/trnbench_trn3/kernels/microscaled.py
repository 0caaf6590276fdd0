"""Products of microscaled operands: sources for the kernels that multiply matrices of every other type."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench import Variant

_SOURCES = {
    "gemm": "gemm_mx_best:gemm_mx_best",
    "gemm_naive": "gemm_mx:gemm_mx_naive",
    "gemm_blocked": "gemm_mx:gemm_mx_blocked",
    "gemm_shared": "gemm_mx_best:gemm_mx_best",
    "gemm_skinny": "gemm_mx_best:gemm_mx_best",
    "gemm_ragged": "gemm_mx_best:gemm_mx_best",
    "tensor_throughput": "engines_mx:tensor_mx_burst",
}


def variants() -> Iterator[Variant]:
    """One for each kernel whose axes name MXFP8 and MXFP4."""
    for kernel, source in _SOURCES.items():
        yield Variant(kernel=kernel, kind="nki-mx", source=f"trnbench_trn3.nki.{source}")
