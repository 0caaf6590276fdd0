"""A product in timing mode against SCALE-Sim v3, which simulates a systolic array and its memories.

Skipped unless TRNBENCH_TEST_SCALESIM names a Python that has it (pip install scalesim "numpy<2"). Both
get the same product and a 128 × 128 array that holds one operand; what they model beside it differs: ours
schedules a kernel's instructions on five engines, DMA and HBM, theirs goes through the array cycle by
cycle. The ratio is of wall time from the call to the result, both loaded before.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trnbench.registry import load_registry
from trnbench_emulator.core.timing import KernelModel
from trnbench_emulator.nki import TensorSpec, load_kernel

INTERPRETER = os.environ.get("TRNBENCH_TEST_SCALESIM", "")

CONFIG = Path(__file__).with_name("scalesim.cfg").read_text()
RUN = Path(__file__).with_name("scalesim.py.txt").read_text()


def others(folder: Path, size: int) -> tuple[float, float]:
    """Seconds that SCALE-Sim takes for a product of that size: wall, and of the processor."""
    (folder / "product.cfg").write_text(CONFIG)
    (folder / "product.csv").write_text(f"Layer, M, N, K,\nproduct, {size}, {size}, {size},\n")
    (folder / "layout.csv").write_text("Layer,\nproduct, " + "1, " * 21 + "\n")
    (folder / "out").mkdir()
    done = subprocess.run(
        [INTERPRETER, "-c", RUN], cwd=folder, capture_output=True, text=True, check=False, timeout=3600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    reports = list((folder / "out").rglob("COMPUTE_REPORT.csv"))
    assert reports, "SCALE-Sim wrote no report"
    wall, used = map(float, done.stdout.split())
    return wall, used


@pytest.mark.skipif(
    not INTERPRETER, reason="TRNBENCH_TEST_SCALESIM names no Python that has SCALE-Sim v3 (scalesim)"
)
@pytest.mark.parametrize("size", [1024, 2048])
def test_a_product_in_timing_mode(benchmark: Any, tmp_path: Path, size: int) -> None:
    system = load_registry().system("trn2-16.48xlarge")
    kernel, _, _ = load_kernel("trnbench_kernels.nki.gemm:gemm_blocked", nki="trnbench")
    specs = (TensorSpec((size, size), "bf16"),) * 2
    made = benchmark(lambda: KernelModel().time(kernel, specs, system))
    assert made.latency_s > 0
    if benchmark.stats is None:  # not asked to measure
        return
    ours = benchmark.stats.stats.min
    wall, used = others(tmp_path, size)
    # On a busy machine only the processor's own time is comparable: that of the shortest run here is no
    # more than its wall time.
    benchmark.extra_info.update(
        scalesim_wall_s=wall, scalesim_cpu_s=used, ratio=wall / ours, least_ratio=used / ours
    )
    told = f"{ours:.4f} s here, {wall:.1f} s in SCALE-Sim ({used:.1f} s of processor)"
    print(f"{size}³: {told}: {wall / ours:,.0f} times ({used / ours:,.0f})", file=sys.stderr)
