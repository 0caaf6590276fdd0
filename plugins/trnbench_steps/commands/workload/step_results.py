"""What the steps of a run came to: times with what to expect, parts, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnbench import Measurement, expected_time, least_time, nearness_of, percent, show
from trnbench.terminal.cell import Column
from trnbench.terminal.outcome import Ended, none_ran
from trnbench.terminal.output import emit, emit_json, paragraph, say, write
from trnbench.terminal.result_table import results_of, show_results
from trnbench.terminal.target import write_report
from trnbench_steps.commands.workload.tables import seconds, size
from trnbench_steps.paths import PATHS
from trnbench_steps.step_request import LAYOUT_AXES

if TYPE_CHECKING:
    from trnbench import Session
    from trnbench.run.plan import Plan


RATE = "tokens_per_s"
"""The metric that stands beside the time of a step."""

SIDE_BY_SIDE = 4
"""Cases whose parts are shown beside each other; of more, JSON and the report have them."""


def tell_steps(
    state: Session, planned: Plan, ended: Ended, target: Path | None, format: str, *, explain: bool
) -> int:
    """Its report written, its steps told, with `explain` where their time goes; the exit code."""
    done, failure = ended.run, ended.failure
    if target is not None and not done.interrupted:
        failure = failure or write_report(state, done, target)
    failure = failure or none_ran(done)
    code = int(failure.exit_code) if failure else ended.code
    records = [_record(measurement) for measurement in done.measurements]
    if format == "json":
        kept = {"run": done.id, "store": str(ended.store), "report": str(target) if target else None}
        emit_json({**kept, "steps": records, "interrupted": done.interrupted, "exit_code": code})
    else:
        if format != "csv" and done.measurements:
            show_results(results_of(done, RATE), format, (*LAYOUT_AXES, *PATHS))
        if format == "csv" or explain:
            _tables(records, done.measurements, format)
        elif idle := _idle(records):
            paragraph(idle)
        say(f"run {done.id} in {ended.store}" + (f", report {target}" if target else ""), level=0)
    if done.interrupted:
        left = len(planned.cases) - len(done.measurements)
        say(f"interrupted: {left} cases left\n  try:   trnbench resume {done.id}")
    if failure is not None:
        raise failure
    return code


def _record(case: Measurement) -> dict[str, Any]:
    """One case as data; seconds, bytes and shares."""
    step: dict[str, Any] = case.detail.get("step", {})
    expect = expected_time(case.evidence, case.time_s, least_time(case))
    return {
        "case": case.id,
        "system": case.case.instance,
        **case.case.point,
        "status": str(case.status),
        "reason": case.reason_text,
        "time_s": case.time_s,
        "otherwise_s": next((path["other_s"] for path in step.get("paths", ()) if path["other_s"]), None),
        "expected_low_s": expect[0] if expect else None,
        "expected_high_s": expect[1] if expect else None,
        "nearness": str(nearness_of(case)),
        "of_peak": case.judgement.fraction if case.judgement else None,
        **{key: value for key, value in step.items() if key not in ("model", "formulas")},
        "notes": list(case.notes),
    }


def _tables(records: list[dict[str, Any]], cases: tuple[Measurement, ...], format: str) -> None:
    axes = list(dict.fromkeys(name for case in cases for name in case.case.point))
    shown: list[Column | str] = ["system"]
    shown += [Column(name, name, "right") for name in axes if len({row.get(name) for row in records}) > 1]
    rows = [_row(record) for record in records]
    if format == "csv":
        emit(rows, ("system", *axes, *_NUMBERS), "csv")
        return
    write("\n")
    shown += [
        Column("time_s", "time", "right", seconds, keep=3),
        Column("otherwise_s", "unfused or native", "right", seconds, keep=2),
        Column("expect", "expect", "right", keep=2),
        Column("tokens_per_s", "token/s", "right", _per_second, keep=2),
        Column("mfu", "MFU", "right", percent),
        Column("mbu", "MBU", "right", percent),
        Column("device", "memory of a device", "right", size),
        Column("largest", "largest part", keep=1),
        Column("reason", "why not"),
    ]
    emit(rows, [each for each in shown if _filled(each, rows)], format)
    there = [record for record in records if record["time_s"] is not None]
    if 0 < len(there) <= SIDE_BY_SIDE:
        write("\n")
        _parts(there, axes, format)
        for line in _remarks(there):
            paragraph(line)


def _per_second(value: float) -> str:
    """Four digits, and all of a larger whole number, as in the table above."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


_NUMBERS = (
    "status",
    "reason",
    "time_s",
    "otherwise_s",
    "expected_low_s",
    "expected_high_s",
    "nearness",
    "tokens_per_s",
    "sequences_per_s",
    "mfu",
    "mbu",
    "of_peak",
    "roofline_share",
    "device",
    "largest",
    "parts",
)


def _row(record: dict[str, Any]) -> dict[str, Any]:
    parts: dict[str, float] = record.get("parts") or {}
    low, high = record["expected_low_s"], record["expected_high_s"]
    whole = record["time_s"] or 0.0
    largest = max(parts, key=lambda name: parts[name], default="")
    return {
        **record,
        "expect": f"{show(low, 's')} to {show(high, 's')}" if low is not None else "no band" if whole else "",
        "device": (record.get("memory") or {}).get("device"),
        "largest": f"{largest} {parts[largest] / whole:.0%}" if largest and whole else "",
        "parts": "; ".join(f"{name} {spent:.6g}" for name, spent in parts.items()),
    }


def _filled(column: Column | str, rows: list[dict[str, Any]]) -> bool:
    name = column if isinstance(column, str) else column.key
    return any(row.get(name) not in (None, "") for row in rows)


def _parts(records: list[dict[str, Any]], axes: list[str], format: str) -> None:
    """Parts of the step, one column for each case; they add up."""
    names = list(dict.fromkeys(name for record in records for name in record["parts"]))
    heads = [_head(record, records, axes) for record in records]
    rows: list[dict[str, Any]] = [
        {"part": name, **{head: each["parts"].get(name) for head, each in zip(heads, records, strict=True)}}
        for name in names
    ]
    rows.append({"part": "all", **{head: each["time_s"] for head, each in zip(heads, records, strict=True)}})
    columns = [Column(head, head, "right", seconds) for head in heads]
    emit(rows, ("part", *columns), format, title="Parts")


def _head(record: dict[str, Any], records: list[dict[str, Any]], axes: list[str]) -> str:
    told = [f"{name}={record[name]}" for name in axes if len({each.get(name) for each in records}) > 1]
    return " ".join([str(record["system"]), *told])


_FEW = 4


def _idle(records: list[dict[str, Any]]) -> str:
    """Cores of each system that all its layouts leave without work; empty where there are none, and of
    several systems below more than a few rows: the answer takes twelve lines of a terminal at most."""
    busiest: dict[str, dict[str, Any]] = {}
    laid = [each for each in records if "cores" in each]
    for each in laid:
        known = busiest.setdefault(each["system"], each)
        busiest[each["system"]] = max(known, each, key=lambda record: int(record["ranks"]))
    idle = [
        f"{each['cores'] - each['ranks']:,} of {each['cores']:,} cores idle on {name}"
        for name, each in busiest.items()
        if each["cores"] > each["ranks"]
    ]
    told = idle and (len(busiest) == 1 or len(laid) <= _FEW)
    return f"{', '.join(idle)}: use --tp or --dp." if told else ""


def _remarks(records: list[dict[str, Any]]) -> list[str]:
    """Crossovers, and what stands under the numbers, each once."""
    sentences: dict[str, None] = {}
    for record in records:
        if record.get("compute_bound_batch"):
            sentences[
                f"{record['system']}: decoding is bound by operations from {record['compute_bound_batch']:,} "
                "sequences on."
            ] = None
        if record.get("attention_length"):
            sentences[
                f"Attention takes more operations than the matrices of the layers from "
                f"{record['attention_length']:,} tokens on."
            ] = None
        for note in record["notes"]:
            sentences[f"{record['system']}: {note}."] = None
    return list(sentences)
