"""The report of a run of the default size: four seconds of one processor, on a busy one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from synthetic_run import make_run

from trnbench import Section
from trnbench_reports import page, plugin

SUPPORT = Path(__file__).parents[1] / "support"
BUILT_IN = tuple(each for each in plugin.trnbench_reports() if isinstance(each, Section))
BUDGET_S = 4.0


@pytest.fixture(scope="module")
def run() -> Any:
    return make_run()


def test_page_of_1771_cases(benchmark: Any, run: Any) -> None:
    """Every section, every chart, the data packed."""
    made = benchmark.pedantic(page.render, args=([run], BUILT_IN), rounds=3, iterations=1)
    assert len(made) < 2_200_000


@pytest.mark.slow
def test_a_fresh_process_stays_within_the_budget(tmp_path: Path) -> None:
    """Imports included, held to one core where the system allows it."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import synthetic_run\n"
        "from trnbench import Section\n"
        "from trnbench_reports import page, plugin\n"
        "run = synthetic_run.make_run()\n"
        "import time; start = time.process_time()\n"
        "page.render([run], [s for s in plugin.trnbench_reports() if isinstance(s, Section)])\n"
        "print(time.process_time() - start)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(SUPPORT)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    assert float(done.stdout) < BUDGET_S, f"{done.stdout.strip()} s of processor time"
