"""Memory of a command and all that it starts: the peak, and processor time, of a sweep of 625 cases."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from process_tree import carried_out

SWEEP = "run gemm_blocked -i trn2-16.48xlarge -a size[range]=512:16384:128 --no-report -q --no-cache"


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
@pytest.mark.campaign("hours")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_sweep_of_one_kernel(benchmark: Any, tmp_path: Path, jobs: int) -> None:
    words = f"{SWEEP} --jobs {jobs}".split()
    spent = benchmark.pedantic(carried_out, args=(tmp_path / "store.db", *words), rounds=1)
    benchmark.extra_info["peak_MB"] = spent.peak / 1e6
    benchmark.extra_info["processor_s"] = spent.all_s
