"""How long the history of one case takes, in starts of bare Python, in a store of 1,000 runs of 100 cases.

Run with `pytest tests/benchmarks --benchmark-enable`. The budget is 20 starts of processor time. Both are
taken in turns, because the machine may be busy with others.
"""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from process_tree import python_s
from run_history import case_id, measurement, run

from trnbench.store.store import Store

RUNS, CASES = 1000, 100


@pytest.fixture
def store(tmp_path: Path, benchmark: Any) -> Path:
    """Two per cent of noise and no step, which takes longest."""
    runs, cases = (RUNS, CASES) if benchmark.enabled else (20, 2)
    draw = random.Random(1)
    path = tmp_path / "results.db"
    with Store(path) as opened:
        opened.save(
            *[
                run(day, [measurement(1e-3 * draw.gauss(1.0, 0.02), number=case) for case in range(cases)])
                for day in range(runs)
            ]
        )
    return path


def test_history_of_one_case(benchmark: Any, store: Path) -> None:
    words = ("-m", "trnbench", "--store", str(store), "history", case_id(), "--format", "csv")
    shown = subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True).stdout
    assert shown.count(case_id()) == (RUNS if benchmark.enabled else 20)
    pairs = []

    def pair() -> None:
        pairs.append(python_s(*words) / python_s("-c", "pass"))

    benchmark.pedantic(pair, rounds=15 if benchmark.enabled else 1, iterations=1)
    benchmark.extra_info["ratio_to_bare_python"] = sorted(pairs)[len(pairs) // 2]
