"""Calls per second of the recorder in timing mode. Aim: 100,000 on one core."""

from __future__ import annotations

from typing import Any

import pytest
from nki_machine import V3

from trnbench_emulator.nki import TensorSpec, load_kernel, record

KERNELS = [
    "trnbench_kernels.nki.gemm:gemm_naive",
    "trnbench_kernels.nki.gemm:gemm_blocked",
    "trnbench_trn1.nki.gemm:gemm_tiled",  # of Beta 1
]


@pytest.mark.parametrize("reference", KERNELS)
@pytest.mark.parametrize("size", [1024, 2048])
def test_timing_mode(benchmark: Any, reference: str, size: int) -> None:
    kernel, _, _ = load_kernel(reference, nki="trnbench")
    specs = (TensorSpec((size, size), "bf16"),) * 2
    trace = benchmark(lambda: record(kernel, specs, machine=V3))
    benchmark.extra_info["calls"] = trace.count
    if benchmark.stats is not None:
        benchmark.extra_info["calls_per_s"] = trace.count / benchmark.stats.stats.median
    assert trace.count > 0
