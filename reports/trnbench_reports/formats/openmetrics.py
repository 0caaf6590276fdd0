"""OpenMetrics 1.0 text: every metric of every case as a gauge, for Prometheus' textfile collector."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from trnbench import Run
from trnbench_reports import numbers

_UNITS = {
    "s": "seconds",
    "B/s": "bytes_per_second",
    "FLOP/s": "flops_per_second",
    "OP/s": "operations_per_second",
    "element/s": "elements_per_second",
    "B": "bytes",
}
_ENDINGS = (("_per_s", "_per_second"), ("_s", "_seconds"))

Sample = tuple[Mapping[str, str], float]


def write(runs: Sequence[Run]) -> bytes:
    """In base units; the last line is `# EOF`. A label `run` tells several runs apart; of one run there is
    none, so that a series goes on with the next one."""
    families: dict[str, tuple[str, str, list[Sample]]] = {}
    for run in runs:
        for name, unit, about, sample in _samples(run, {"run": run.id} if len(runs) > 1 else {}):
            families.setdefault(name, (unit, about, []))[2].append(sample)
    lines: list[str] = []
    for name, (unit, about, samples) in sorted(families.items()):
        lines.append(f"# TYPE {name} {'info' if about == _INFO else 'gauge'}")
        if unit:
            lines.append(f"# UNIT {name} {unit}")
        lines.append(f"# HELP {name} {_escaped(about)}")
        ending = "_info" if about == _INFO else ""
        lines += [f"{name}{ending}{_labels(labels)} {value!r}" for labels, value in samples]
    return "\n".join([*lines, "# EOF\n"]).encode("utf-8")


_INFO = "What the figures come from."


def _samples(run: Run, which: Mapping[str, str]) -> Iterator[tuple[str, str, str, Sample]]:
    """Name, unit, help text, and labels with their value."""
    about = {
        "run": run.id,
        "created": run.created,
        "version": run.tool_version,
        "backend": run.backend,
        "evidence": str(run.grade),
        "commit": str(run.environment.get("git_commit", "")),
    }
    yield "trnbench_run", "", _INFO, (about, 1)
    for status, count in run.counts().items():
        labels = {**which, "status": str(status)}
        yield "trnbench_cases", "", "Cases of the run by status.", (labels, count)
    for measurement in run.measurements:
        case = measurement.case
        labels = {
            **which,
            "instance_type": case.instance,
            "generation": case.generation,
            "kernel": case.kernel,
            "point": ",".join(f"{name}={value}" for name, value in case.point.items()),
            "dtype": case.dtype,
            "scope": str(case.scope),
            "division": str(case.division or ""),
            "evidence": str(measurement.evidence.grade),
            "status": str(measurement.status),
        }
        if measurement.time_s is not None:
            yield "trnbench_time_seconds", "seconds", "Time of one repetition.", (labels, measurement.time_s)
        for metric in measurement.metrics.values():
            name, unit = _named(metric.name, metric.unit)
            more = {"metric_scope": str(metric.scope), "direction": str(metric.direction)}
            yield name, unit, f"{metric.name}, {metric.better} is better.", ({**labels, **more}, metric.value)
        if measurement.judgement is not None:
            share = ({**labels, "metric": measurement.judgement.metric}, measurement.judgement.fraction)
            yield "trnbench_peak_share_ratio", "ratio", "Share of the documented peak.", share


def _named(metric: str, unit: str) -> tuple[str, str]:
    """A name that ends in its unit, as the format asks, and that unit; "" where it has no base unit."""
    name = re.sub(r"[^a-zA-Z0-9_]", "_", metric)
    for old, new in _ENDINGS:
        if name.endswith(old):
            name = name.removesuffix(old) + new
            break
    word = _UNITS.get(unit, "")
    name = f"trnbench_{name}"
    return name, word if word and name.endswith(f"_{word}") else ""


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items() if value) + "}"


def _escaped(text: str) -> str:
    return numbers.valid(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
