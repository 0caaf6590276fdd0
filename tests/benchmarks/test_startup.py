"""How long `trnbench --help` takes beyond bare Python, with five plugins installed.

Run with `pytest tests/benchmarks --benchmark-enable`. The budget is 100 ms over `python -c pass`;
the ordinary tests hold it by counting modules, because wall clocks differ from machine to machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Five more distributions, each with a plugin and a command."""
    for number in range(5):
        info = tmp_path / f"extra{number}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: extra{number}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            f"[trnbench]\nextra{number} = extra{number}\n"
            f"[trnbench.commands]\nfrob{number} = extra{number}:f\n"
        )
    existing = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *([existing] if existing else [])])}


@pytest.mark.parametrize("arguments", [("--help",), ("list", "instances")], ids=" ".join)
def test_start_up(benchmark: Any, environment: dict[str, str], arguments: tuple[str, ...]) -> None:
    def call(*command: str) -> str:
        told = subprocess.run(
            [sys.executable, *command], check=True, capture_output=True, text=True, env=environment
        )
        return told.stdout

    def seconds(*command: str) -> float:
        started = time.perf_counter()
        call(*command)
        return time.perf_counter() - started

    shown = benchmark.pedantic(
        call, args=("-m", "trnbench", *arguments), rounds=7, warmup_rounds=1, iterations=1
    )
    assert "trn1.2xlarge" in shown or "frob4" in shown
    bare = min(seconds("-c", "pass") for _ in range(7))
    benchmark.extra_info["bare_python_s"] = bare
    if benchmark.stats:
        fastest = benchmark.stats.stats.min
        benchmark.extra_info["over_bare_python_s"] = fastest - bare
        benchmark.extra_info["ratio_to_bare_python"] = fastest / bare
