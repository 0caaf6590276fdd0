"""The README's main job without its installation: every documented system, emulated, stored, reported.

Run with `pytest tests/benchmarks --benchmark-enable`. The budget is 20 s on two cores.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any


def test_default_run(benchmark: Any, tmp_path: Path) -> None:
    numbers = iter(range(1000))

    def run() -> str:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-m", "trnbench", "--store", "results.db", "run", "-q"],
            check=True,
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1"},
        )
        benchmark.extra_info["report_bytes"] = (folder / "trnbench-report.html").stat().st_size
        benchmark.extra_info["store_bytes"] = (folder / "results.db").stat().st_size
        return done.stdout

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    shown = benchmark.pedantic(run, rounds=3 if benchmark.enabled else 1, iterations=1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = next(line.split() for line in shown.splitlines() if line.startswith("all "))
    benchmark.extra_info["cases"] = int(total[1])
    spent = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
    benchmark.extra_info["cpu_s_all_rounds"] = spent
    benchmark.extra_info["peak_memory_kib"] = after.ru_maxrss
    assert int(total[1]) > 1000
    assert total[4:6] == ["0", "0"]  # none suspect, none failed
    assert benchmark.extra_info["report_bytes"] <= 3_000_000
