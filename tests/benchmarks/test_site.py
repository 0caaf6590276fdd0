"""The budgets of a site: bytes of twenty runs, what writing them takes, and what one more run takes.

Run with `pytest tests/benchmarks/test_site.py --benchmark-enable -s`. Every tenth case moves from run to run,
and every case in two of the runs. Times are processor time in starts of bare Python, in the same minutes.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from statistics import median
from subprocess import DEVNULL
from typing import Any

import msgspec
import pytest
from process_tree import python_s

from trnbench import Measurement, Run
from trnbench.store.store import Store

replace = msgspec.structs.replace
RUNS, ALL_MOVE = 20, (7, 14)
BYTES, WRITE, ADD = 10_000_000, 1_500, 150
"""The last two in starts of bare Python; 1,133 and 145 were counted."""


def slower(value: Any, factor: float) -> Any:
    """Every number of a detail that is no count."""
    if isinstance(value, float):
        return value * factor
    if isinstance(value, dict):
        return {name: slower(each, factor) for name, each in value.items()}
    return [slower(each, factor) for each in value] if isinstance(value, (list, tuple)) else value


def moved(case: Measurement, factor: float) -> Measurement:
    """The case as a model gives it that takes `factor` of the time."""
    if case.time_s is None:
        return case
    metrics = {
        name: replace(metric, value=metric.value * factor if metric.unit == "s" else metric.value / factor)
        for name, metric in case.metrics.items()
    }
    return replace(
        case,
        time_s=case.time_s * factor,
        samples=tuple(sample * factor for sample in case.samples),
        metrics=metrics,
        parts=tuple(replace(part, seconds=part.seconds * factor) for part in case.parts),
        judgement=case.judgement and replace(case.judgement, fraction=case.judgement.fraction / factor),
        detail=slower(case.detail, factor),
    )


@pytest.fixture(scope="module")
def ids(default_run: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A store of the runs, and their ids."""
    with Store(default_run / "results.db") as store:
        run: Run = store.load("latest")
    path, cases, runs = tmp_path_factory.mktemp("site") / "results.db", run.measurements, []
    for day in range(RUNS):
        every = 1 if day in ALL_MOVE else 10
        if day:
            cases = tuple(
                moved(case, 1 + day / 100) if (at + day) % every == 0 else case
                for at, case in enumerate(cases)
            )
        created = f"2026-01-{day + 1:02d}T00:00:00Z"
        environment = {**run.environment, "git_commit": f"{day:040x}", "git_dirty": False}
        fields = {"created": created, "finished": created, "measurements": cases, "environment": environment}
        runs.append(replace(run, id=f"day-{day:02d}", digest="", **fields))
    with Store(path) as store:
        store.save(*runs)
    return path, [each.id for each in runs]


def test_a_site_of_twenty_runs(benchmark: Any, ids: tuple[Path, list[str]], tmp_path: Path) -> None:
    store, runs = ids
    compiled = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "modules")}
    compiled.pop("PYTHONDONTWRITEBYTECODE", None)
    command = ["-m", "trnbench", "--store", str(store), "site"]
    told: dict[str, list[float]] = {"write": [], "add": []}
    rounds = 3 if benchmark.enabled else 1

    def starts(words: list[str]) -> float:
        bare = median(python_s("-c", "pass", env=compiled) for _ in range(7))
        return python_s(*words, env=compiled, stderr=DEVNULL) / bare

    python_s(*command, str(tmp_path / "first"), *runs[:2], env=compiled, stderr=DEVNULL)  # compiles

    def write() -> None:
        early, whole = tmp_path / "early", tmp_path / "whole"
        for folder in (early, whole):
            shutil.rmtree(folder, ignore_errors=True)
        told["write"].append(starts([*command, str(early), *runs[:-1]]))
        shutil.copytree(early, whole)
        told["add"].append(starts([*command, str(whole)]))

    benchmark.pedantic(write, rounds=rounds, iterations=1)
    files = [path for path in (tmp_path / "whole").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    benchmark.extra_info.update({name: median(values) for name, values in told.items()}, bytes=size)
    written, added = median(told["write"]), median(told["add"])
    print(f"\n{size / 1e6:.1f} MB; {RUNS - 1} runs {written:.0f} starts of bare Python, one more {added:.0f}")
    assert size <= BYTES
    if benchmark.enabled:
        assert written <= WRITE
        assert added <= ADD
