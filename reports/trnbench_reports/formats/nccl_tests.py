"""Collectives in the table of nccl-tests, which its parsers read: ours stands in columns behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trnbench import (
    Measurement,
    NothingSelected,
    Run,
    TrnbenchError,
    expected_time,
    grouped,
    item_bytes,
    least_time,
    nccl_operation,
    nccl_table,
    nearness_of,
)
from trnbench_reports import numbers


def write(runs: Sequence[Run]) -> bytes:
    """A table for each run, system, collective, data type, scope and other axis, its sizes in order.

    Times in µs, bandwidths in GB/s of 10⁹ bytes; nothing was checked (`N/A`). Raises `NothingSelected`
    without a collective's time.
    """
    lines: list[str] = []
    for run in runs:
        for group in grouped(_timed(run), _sweep).values():
            case, evidence = group[0].case, group[0].evidence
            where = f"{case.kernel}{_axes(group[0])} on {case.instance}, {case.scope}"
            title = f"trnbench {where}, {evidence.grade} by {evidence.by}, run {run.id}"
            rows = [_row(each) for each in sorted(group, key=lambda each: each.work["payload_bytes"])]
            lines += nccl_table(numbers.clean(title).replace("\n", " "), rows)
    if not lines:
        raise NothingSelected(
            "no case of these runs is a collective with a time",
            cause="the table of nccl-tests has nothing but collectives",
            try_="trnbench run all_reduce -i trn2-16.48xlarge --no-report",
        )
    return ("\n".join(lines) + "\n").encode("utf-8")


def _sweep(each: Measurement) -> tuple[str, ...]:
    return each.case.instance, each.case.kernel, each.case.dtype, str(each.case.scope), _axes(each)


_COLUMNS = ("dtype", "size")
"""Axes that the table has a column for."""


def _axes(each: Measurement) -> str:
    """`[dtype,tokens=128]`: those that a column has by their names, others with their values; "" where
    columns have all."""
    point = each.case.point
    words = [name if name in _COLUMNS else f"{name}={value}" for name, value in point.items()]
    return "" if tuple(words) == _COLUMNS else f"[{','.join(words)}]"


def _timed(run: Run) -> Iterator[Measurement]:
    for measurement in run.measurements:
        measured = {"busbw_bytes_per_s", "algbw_bytes_per_s"} <= set(measurement.metrics)
        if measured and measurement.time_s and measurement.work.get("payload_bytes"):
            yield measurement


def _row(each: Measurement) -> dict[str, Any]:
    redop, root = nccl_operation(each.case.kernel)
    size = round(each.work["payload_bytes"])
    low, high = expected_time(each.evidence, each.time_s, least_time(each)) or (None, None)
    kind, _, algorithm = each.implementation.partition(": ")
    return {
        "size": size,
        "count": _count(size, each.case.dtype),
        "type": each.case.dtype or "-",
        "redop": redop,
        "root": root,
        "time_s": each.time_s,
        "algbw_gb_s": each.metrics["algbw_bytes_per_s"].value / 1e9,
        "busbw_gb_s": each.metrics["busbw_bytes_per_s"].value / 1e9,
        "algorithm": _word(algorithm.partition(",")[0] if kind == "collective" else kind),
        "peak_share": each.judgement.fraction if each.judgement else None,
        "bound_share": each.judgement.of_engine_bound if each.judgement else None,
        "bound": _word(each.bound),
        "evidence": str(each.evidence.grade),
        "nearness": _word(nearness_of(each)),
        "expected_low_s": low,
        "expected_high_s": high,
    }


def _count(size: int, dtype: str) -> int:
    try:
        return int(size / item_bytes(dtype))
    except TrnbenchError:  # a data type of another's
        return 0


def _word(text: str) -> str:
    """One column: parsers cut lines at blanks."""
    return "-".join(numbers.clean(text, 40).split())
