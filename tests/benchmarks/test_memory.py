"""Memory of a command and all that it starts: the peak, and processor time, of a sweep of 625 cases.

Shared pages are counted in parts (PSS), so that the processes add up. Asked every tenth of a second.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

SWEEP = "run gemm_blocked -i trn2-16.48xlarge -a size[range]=512:16384:128 --no-report -q --no-cache"


def _tree(process: int) -> list[int]:
    """It and its descendants."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [process, *(pid for child in children for pid in _tree(int(child)))]


def _bytes(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return 1024 * next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def _peak(words: str, folder: Path) -> int:
    command = [sys.executable, "-m", "trnbench", "--store", str(folder / "store.db"), *words.split()]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        most = max(most, sum(map(_bytes, _tree(process.pid))))
        time.sleep(0.1)
    assert process.returncode == 0
    return most


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
@pytest.mark.campaign("hours")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_sweep_of_one_kernel(benchmark: Any, tmp_path: Path, jobs: int) -> None:
    before = os.times()
    peak = benchmark.pedantic(_peak, args=(f"{SWEEP} --jobs {jobs}", tmp_path), rounds=1)
    after = os.times()
    benchmark.extra_info["peak_MB"] = peak / 1e6
    benchmark.extra_info["processor_s"] = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
