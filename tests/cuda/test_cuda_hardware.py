"""On a real GPU, where there is one: what stand-ins cannot tell."""

from __future__ import annotations

from pathlib import Path

import pytest

import trnbench
from trnbench import Grade, Status
from trnbench_cuda.backend import CudaBackend

FOUND = CudaBackend().detect()
pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not FOUND.available, reason=f"needs a CUDA device: {FOUND.why}"),
]


def test_products_and_copies_are_measured_with_their_evidence(tmp_path: Path) -> None:
    run = trnbench.bench(
        ["gemm", "hbm_copy", "softmax", "attention"],
        backend="cuda",
        axes=("gemm.size=4096", "gemm.dtype=bf16,fp32,tf32,fp8", "hbm_copy.size=1GiB", "attention.seq=4096"),
        scopes=("core",),
        store=tmp_path / "r.db",
    )
    assert run.grade is Grade.MEASURED
    assert run.measurements
    for each in run.measurements:
        assert each.status in (Status.OK, Status.DOCUMENT_LOW), (each.id, each.reason_text)
        assert each.clock == "device"
        assert each.counters["sm_clock_hz"] > 0.0


def test_fp32_is_no_tf32(tmp_path: Path) -> None:
    run = trnbench.bench(
        ["gemm"],
        backend="cuda",
        axes=("size=8192", "dtype=fp32,tf32"),
        scopes=("core",),
        store=tmp_path / "r.db",
    )
    plain, tf32 = (each.metrics["flops_per_s"].value for each in run.measurements)
    assert tf32 > 2.0 * plain


def test_a_small_array_is_read_from_memory_and_not_from_the_l2(tmp_path: Path) -> None:
    run = trnbench.bench(
        ["hbm_read"], backend="cuda", axes=("size=16MiB",), scopes=("core",), store=tmp_path / "r.db"
    )
    (found,) = run.measurements
    series = found.detail["timing"]["series"]
    assert series["cold"]["device_median_s"] > series["hot"]["device_median_s"]
