"""The README's main job without its installation: every documented system, emulated, stored, reported.

Run with `pytest tests/benchmarks --benchmark-enable`. The budget is 20 s on two cores.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def run(benchmark: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[], Path]:
    """Gives the folder of a run: a new one where it is timed, else the one that all tests share."""
    numbers = iter(range(1000))

    def carried_out() -> Path:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        with (folder / "stdout").open("wb") as stdout:
            subprocess.run(
                [sys.executable, "-m", "trnbench", "--store", "results.db", "run", "-q"],
                check=True,
                stdout=stdout,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env={**os.environ, "NO_COLOR": "1"},
            )
        return folder

    if benchmark.enabled:
        return carried_out
    shared: Path = request.getfixturevalue("default_run")
    return lambda: shared


def test_default_run(benchmark: Any, run: Callable[[], Path]) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    folder = benchmark.pedantic(run, rounds=3 if benchmark.enabled else 1, iterations=1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    shown = (folder / "stdout").read_text(encoding="utf-8")
    total = next(line.split() for line in shown.splitlines() if line.startswith("all "))
    benchmark.extra_info["cases"] = int(total[1])
    spent = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
    benchmark.extra_info["cpu_s_all_rounds"] = spent
    benchmark.extra_info["peak_memory_kib"] = after.ru_maxrss
    benchmark.extra_info["report_bytes"] = (folder / "trnbench-report.html").stat().st_size
    benchmark.extra_info["store_bytes"] = (folder / "results.db").stat().st_size
    assert int(total[1]) > 1000
    assert total[4:6] == ["0", "0"]  # none suspect, none failed
    assert benchmark.extra_info["report_bytes"] <= 3_000_000
