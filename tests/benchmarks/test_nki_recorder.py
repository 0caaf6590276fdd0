"""Calls per second of the recorder in timing mode. Aim: 100,000 on one core."""

from __future__ import annotations

from typing import Any

import pytest

from trnbench.nki import Machine, TensorSpec, load_kernel, record

V3 = Machine(
    generation="trn2",
    core="neuroncore-v3",
    nc_version=3,
    partitions=128,
    stationary_free=128,
    moving_free=512,
    sbuf_partition_bytes=224 << 10,
    psum_partition_bytes=16 << 10,
    psum_banks=8,
    hbm_bytes=96 << 30,
)


KERNELS = [
    "trnbench.kernels.nki.gemm:gemm_naive",
    "trnbench.kernels.nki.gemm:gemm_blocked",
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
