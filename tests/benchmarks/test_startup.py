"""How many starts of bare Python a command takes that only looks something up, with five plugins installed,
and one whose answer is in the cache.

Run with `pytest tests/benchmarks --benchmark-enable`. The budget, in processor time, is four starts for
`--help` and ten for the others once the cache has what files say; the ordinary tests hold it by naming what
may be imported, because clocks differ from machine to machine. The step of a model is beyond it: its run is
planned, stored and told like every other.
"""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
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


STEP = shlex.split("workload run llama-3-8b -i trn1.32xlarge --task decode --tp 32 --kv 2112")


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("--version",), ("list", "instances"), ("info", "gemm"), ("run", "--dry-run"), STEP],
    ids=" ".join,
)
def test_start_up(
    benchmark: Any, environment: dict[str, str], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    environment["TRNBENCH_STORE"] = str(tmp_path / "results.db")

    def call(*command: str) -> str:
        told = subprocess.run(
            [sys.executable, *command], check=True, capture_output=True, text=True, env=environment
        )
        return told.stdout

    def seconds(*command: str) -> float:
        """Processor time of one call."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        call(*command)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    shown = benchmark.pedantic(
        call, args=("-m", "trnbench", *arguments), rounds=7, warmup_rounds=1, iterations=1
    )
    assert "trn1." in shown or "frob4" in shown or "plugin contract" in shown
    if benchmark.stats:
        pairs = [(seconds("-c", "pass"), seconds("-m", "trnbench", *arguments)) for _ in range(9)]
        bare, ours = (min(times) for times in zip(*pairs, strict=True))
        benchmark.extra_info["bare_python_cpu_s"] = bare
        benchmark.extra_info["cpu_s"] = ours
        benchmark.extra_info["starts_of_bare_python"] = ours / bare
