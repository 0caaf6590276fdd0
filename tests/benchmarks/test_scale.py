"""A hundred thousand cases: processor time of the parent, memory of all processes, bytes on the disk."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from process_tree import carried_out

LINKS = "permute -i trn1.32xlarge -i trn2.48xlarge -d bf16 -d fp32 -d fp16 -d fp8 -d int8"
CASES = 10_000, 100_000


class Usage(NamedTuple):
    """By one run: seconds of processor time of the parent and of all, bytes of memory, bytes on the disk."""

    parent_s: float
    all_s: float
    peak: int
    disk: int


def usage(cases: int, store: Path, *options: str) -> Usage:
    words = f"run {LINKS} -a size[range]=1024:{1024 * cases // 10}:1024 --no-report -q"
    run = carried_out(store, *words.split(), *options)
    files = [each for each in store.parent.rglob("*") if each.is_file() and "cache" not in each.name]
    return Usage(run.parent_s, run.all_s, run.peak, sum(each.stat().st_size for each in files))


@pytest.mark.campaign("hours")
def test_a_hundred_thousand_cases(benchmark: Any, tmp_path: Path) -> None:
    few = usage(CASES[0], tmp_path / "few" / "store.db", "--jobs", "2", "--no-cache")
    many = benchmark.pedantic(
        usage, args=(CASES[1], tmp_path / "many" / "store.db", "--jobs", "2", "--no-cache"), rounds=1
    )
    told = {
        "parent_ms_per_case": 1e3 * many.parent_s / CASES[1],
        "all_ms_per_case": 1e3 * many.all_s / CASES[1],
        "all_ms_per_case_of_few": 1e3 * few.all_s / CASES[0],
        "peak_MB": many.peak / 1e6,
        "disk_bytes_per_case": many.disk / CASES[1],
    }
    benchmark.extra_info.update(told)
    assert told["parent_ms_per_case"] <= 0.2
    assert many.peak <= 300e6
    assert told["all_ms_per_case"] <= 1.1 * told["all_ms_per_case_of_few"]
    assert told["disk_bytes_per_case"] <= 3_000


@pytest.mark.campaign("hours")
def test_a_second_run_finds_all_in_the_cache(benchmark: Any, tmp_path: Path) -> None:
    first = usage(CASES[0], tmp_path / "store.db", "--jobs", "2")
    second = benchmark.pedantic(usage, args=(CASES[0], tmp_path / "store.db", "--jobs", "2"), rounds=1)
    benchmark.extra_info["ratio"] = second.all_s / first.all_s
    assert second.all_s <= 0.5 * first.all_s


@pytest.mark.campaign("hours")
def test_more_processes_than_processors(benchmark: Any, tmp_path: Path) -> None:
    """The default run on two processors, in turns."""
    processors = sorted(os.sched_getaffinity(0))
    spent = {2: 0.0, 8: 0.0}

    def turn() -> None:
        for jobs in spent:
            store = tmp_path / f"{jobs}-{time.monotonic_ns()}" / "store.db"
            words = ("run", "--no-report", "-q", "--no-cache", "--jobs", str(jobs))
            spent[jobs] += carried_out(store, *words).all_s

    os.sched_setaffinity(0, processors[:2])
    try:
        benchmark.pedantic(turn, rounds=3)
    finally:
        os.sched_setaffinity(0, processors)
    benchmark.extra_info["ratio"] = spent[8] / spent[2]
    assert spent[8] <= 1.1 * spent[2]
