"""The JSON of pytest-benchmark: what its `compare` and what reads its files takes.

One file is one run. Every key that 5.x writes is there; the times are ours, in seconds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from trnbench import Measurement, NothingSelected, Run, UsageError

FIELDS = (
    *("min", "max", "mean", "stddev", "rounds", "median", "iqr", "q1", "q3", "iqr_outliers"),
    *("stddev_outliers", "outliers", "ld15iqr", "hd15iqr", "ops", "total"),
)
"""Of `pytest_benchmark.stats.Stats`, which works them out."""

VERSION = "5.1.0"
"""The oldest version whose files these are."""


def write(runs: Sequence[Run]) -> bytes:
    """Cases that have a time, by their ids. Raises `UsageError` for several runs, `NothingSelected` without a
    time."""
    if len(runs) > 1:
        raise UsageError(
            f"a file of pytest-benchmark holds one run, not {len(runs)}",
            cause="it has one machine, one commit and one date",
            try_=f"trnbench export {runs[0].id} --as pytest-benchmark",
        )
    benchmarks = [_benchmark(each, samples) for run in runs for each, samples in _timed(run)]
    if not benchmarks:
        raise NothingSelected(
            "no case of this run has a time",
            cause="all failed or were skipped",
            try_=" ".join(("trnbench runs show", *(run.id for run in runs))),
        )
    (run,) = runs
    document = {
        "machine_info": _machine(run),
        "commit_info": {
            "id": run.environment.get("git_commit", "unknown"),
            "time": None,
            "author_time": None,
            "dirty": run.environment.get("git_dirty", False),
            "project": "trnbench",
            "branch": "(unknown)",
        },
        "benchmarks": benchmarks,
        "datetime": run.created,
        "version": VERSION,
    }
    return json.dumps(document, indent=1, allow_nan=False).encode() + b"\n"


def _timed(run: Run) -> Iterator[tuple[Measurement, list[float]]]:
    for measurement in run.measurements:
        if measurement.time_s is not None and measurement.time_s > 0.0:
            yield measurement, list(measurement.samples) or [measurement.time_s]


def _machine(run: Run) -> dict[str, Any]:
    environment = run.environment
    return {
        "node": "",
        "processor": environment.get("cpu_model", ""),
        "machine": environment.get("machine", ""),
        "python_compiler": "",
        "python_implementation": environment.get("python_implementation", ""),
        "python_implementation_version": environment.get("python_version", ""),
        "python_version": environment.get("python_version", ""),
        "python_build": ["", ""],
        "release": "",
        "system": environment.get("system", ""),
        "cpu": {"brand_raw": environment.get("cpu_model", ""), "count": environment.get("cpu_count", 0)},
        "trnbench_version": run.tool_version,
        "trnbench_backend": run.backend,
        "trnbench_evidence": str(run.grade),
    }


def _benchmark(each: Measurement, samples: list[float]) -> dict[str, Any]:
    stats: Any = import_module("pytest_benchmark.stats").Stats()  # it ships no type information
    for sample in samples:
        stats.update(sample)
    case, metric = each.case, each.metrics.get(each.primary)
    return {
        "group": case.kernel,
        "name": case.fullname,
        "fullname": each.id,
        "params": dict(case.point) or None,
        "param": "-".join(map(str, case.point.values())) or None,
        "extra_info": {
            "evidence": str(each.evidence.grade),
            "by": each.evidence.by,
            "status": str(each.status),
            "instance": case.instance,
            "generation": case.generation,
            "family": case.family,
            "scope": str(case.scope),
            "division": str(case.division or ""),
            "metric": each.primary,
            "value": metric.value if metric else None,
            "unit": metric.unit if metric else None,
            "fraction_of_peak": each.judgement.fraction if each.judgement else None,
            "run_time_s": each.time_s,
        },
        "options": {
            "disable_gc": False,
            "timer": each.clock or "unknown",
            "min_rounds": 1,
            "max_time": 0.0,
            "min_time": 0.0,
            "precision": None,
            "confidence": None,
            "warmup": False,
        },
        "stats": {
            **{name: _finite(getattr(stats, name)) for name in FIELDS},
            "data": samples,
            "iterations": 1,
        },
    }


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
