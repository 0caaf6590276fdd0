"""Runs made of numbers alone, to be compared: no backend, no store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trnbench import CaseKey, Evidence, Grade, Measurement, Metric, Run, Scope, Status
from trnbench.results.measurement import ProcessSamples


def case(kernel: str = "gemm", instance: str = "host", scope: Scope = Scope.CORE, **point: Any) -> CaseKey:
    return CaseKey(
        kernel=kernel, family="tensor", instance=instance, generation="host", scope=scope, point=point
    )


def measured(key: CaseKey, medians: Sequence[float], /, **changes: Any) -> Measurement:
    """Of a case that so many processes measured, each telling its median in seconds."""
    return Measurement(
        **{
            "case": key,
            "evidence": Evidence(grade=Grade.MEASURED, by="a processor"),
            "status": Status.OK,
            "time_s": sorted(medians)[len(medians) // 2] if medians else 1.0,
            "processes": tuple(ProcessSamples(samples=(each,), time_s=each) for each in medians),
            **changes,
        }
    )


def emulated(key: CaseKey, time_s: float, /, **changes: Any) -> Measurement:
    metric = Metric(name="flops_per_s", value=1e9 / time_s, unit="FLOP/s", better="higher", scope=key.scope)
    return Measurement(
        **{
            "case": key,
            "evidence": Evidence(grade=Grade.EMULATED, by="a model", version="1"),
            "status": Status.OK,
            "time_s": time_s,
            "metrics": {metric.name: metric},
            "primary": metric.name,
            **changes,
        }
    )


def run_of(*measurements: Measurement, id: str = "a", **changes: Any) -> Run:
    return Run(
        **{
            "id": id,
            "created": "2026-11-22T12:00:00+00:00",
            "finished": "2026-11-22T12:00:01+00:00",
            "tool_version": "0.1.0",
            "backend": "host",
            "grade": measurements[0].evidence.grade if measurements else Grade.MEASURED,
            "measurements": measurements,
            **changes,
        }
    )


def run_of_medians(medians: Mapping[str, Sequence[float]], id: str = "a") -> Run:
    """One measured case per name."""
    return run_of(*(measured(case(name), found) for name, found in medians.items()), id=id)
