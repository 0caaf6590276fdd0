"""Runs of one machine over time, as a store has them: some cases, a value for each run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from trnbench import CaseKey, Evidence, Grade, Measurement, Metric, Run, Scope, Status

START = datetime(2026, 1, 1, tzinfo=UTC)
MACHINE = {"cpu_model": "Wombat 7", "cpu_count": 8, "memory_bytes": 64 << 30, "package_numpy": "2.4.0"}


def case_id(number: int = 0) -> str:
    return f"box::load[size={number}]@core"


def measurement(
    value: float | None, *, number: int = 0, grade: Grade = Grade.MEASURED, status: Status = Status.OK
) -> Measurement:
    """Seconds, lower is better; None for a case that failed."""
    key = CaseKey(
        kernel="load", family="x", instance="box", generation="t", scope=Scope.CORE, point={"size": number}
    )
    metrics = {}
    if value is not None:
        metrics["latency_s"] = Metric(
            name="latency_s", value=value, unit="s", better="lower", scope=Scope.CORE
        )
    return Measurement(
        case=key,
        evidence=Evidence(grade=grade, by="box"),
        status=status if value is not None else Status.FAILED,
        time_s=value,
        metrics=metrics,
        primary="latency_s",
    )


def run(day: int, measurements: Sequence[Measurement], **changes: Any) -> Run:
    """Of one day; its commit is the day's number."""
    environment = {
        **MACHINE,
        "git_commit": f"{day:040x}",
        "git_dirty": False,
        **changes.pop("environment", {}),
    }
    grade = measurements[0].evidence.grade
    return Run(
        **{
            "id": f"day-{day:04}",
            "created": (START + timedelta(days=day)).isoformat(timespec="seconds"),
            "finished": (START + timedelta(days=day, hours=1)).isoformat(timespec="seconds"),
            "tool_version": "0.1.0",
            "environment": environment,
            "backend": "host" if grade is Grade.MEASURED else "emulated",
            "grade": grade,
            "measurements": tuple(measurements),
            **changes,
        }
    )
