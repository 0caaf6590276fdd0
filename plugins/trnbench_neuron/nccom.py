"""`nccom-test`: what it is asked, and its figures in units that are certain.

Format: NCCOM-TEST User Guide, SDK 2.32 (tools/neuron-sys-tools/nccom-test.rst). Its text calls the
unit of algbw and busbw gibibytes; its older rows are, its newer rows and its JSON are decimal
(contradiction C28). So neither is believed: rates follow from size and time, and the printed ones
say which unit they were in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from trnbench import BadInput, ImportedCase, ImportedRun, NotJson, parse_json
from trnbench.record import Record
from trnbench_neuron.tool import number, whole
from trnbench_neuron.toolbox import ToolError, Trouble

NAME = "nccom-test"

OPERATIONS = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "all_to_all": "alltoall",
    "permute": "permute",
}
"""Collectives of ours and its words for them; it has no broadcast."""

DTYPES = {"bf16": "bf16", "fp16": "fp16", "fp32": "fp32", "fp8": "fp8", "int8": "int8"}

STEP = 4
"""Between the sizes of a sweep: the largest, a quarter of it to see the time shrink, … to next to nothing."""

UNIT_TOLERANCE = 0.02
"""GiB and GB lie 7.4 % apart; rounding of a short time stays well below this."""

_FAILURES = re.compile(r"(\d+) errors? found - test failed|Failure running neuron-bench", re.IGNORECASE)
_WRONG = re.compile(r"golden|mismatch|incorrect|check(ing)? (has )?failed|data integrity", re.IGNORECASE)
_COLUMN = re.compile(r"(time|algbw|busbw)(?::(\w+))?\((us|GB/s)\)")


class Row(Record, kw_only=True):
    """One size. Times in seconds by statistic ("avg", "p50"); rates as printed, in `unit`."""

    size: int
    dtype: str
    times_s: dict[str, float]
    algbw: float | None = None
    busbw: float | None = None
    unit: str = ""  # "GB", "GiB", or "" where the printed figure fits neither
    algorithm: str = ""

    @property
    def factor(self) -> float | None:
        """busbw / algbw as printed: which number of ranks the tool counted."""
        return self.busbw / self.algbw if self.busbw is not None and self.algbw else None


def command(
    operation: str,
    *,
    workers: int,
    size: int,
    dtype: str,
    report: str,
    seed: int,
    least: int,
    groups: str,
    pairs: str,
) -> list[str]:
    """The arguments for a sweep from `least`, each size `STEP` times the one before, up to `size`. The result
    is checked against a golden one by the tool itself.

    Without a `report` only options of the first versions are used; what they print is then read.
    """
    args = [OPERATIONS[operation], "-r", str(workers), "-b", str(least), "-e", str(size)]
    args += ["-f", str(STEP)] if least < size else []
    args += ["-n", "20", "-w", "5", "-d", DTYPES[dtype]]
    if report:
        args += ["--check", "random", "--seed", str(seed), "--non-interactive"]
        args += ["--show-algorithm", "--report-to-json-file", report]
    else:
        args += ["--check"]
    if groups:
        args += ["--custom-replica-groups", groups]
    if pairs:
        args += ["--custom-src-target-pairs", pairs]
    return args


def replica_groups(members: Iterable[int]) -> dict[str, Any]:
    """The file that lets one group of ranks take part."""
    return {"replica_groups": [[list(members)]]}


def ring_pairs(members: list[int]) -> dict[str, Any]:
    """Every member sends to the next one, the last to the first."""
    return {"src_target_pairs": [[[a, b] for a, b in zip(members, members[1:] + members[:1], strict=True)]]}


def complaint(text: str) -> tuple[bool, str]:
    """Whether the result was wrong, and the line that says the test failed; "" when none does."""
    lines = [line.strip() for line in text.splitlines()]
    failure = next((line for line in lines if _FAILURES.search(line)), "")
    return bool(failure) and any(_WRONG.search(line) for line in lines), failure


def read_report(text: str, unread: list[str] | None = None) -> tuple[Row, ...]:
    """The rows of its JSON file; `unread` gets where others stand.

    Raises `ToolError` (unreadable) for another shape.
    """
    try:
        document = parse_json(text, nan_is_null=True)
    except NotJson as error:
        raise _unreadable(f"its report is no JSON ({error})") from None
    results = document.get("results") if isinstance(document, dict) else None
    if not isinstance(results, list):
        raise _unreadable("its report has no list of results")
    entries = [entry if isinstance(entry, dict) else {} for entry in results]
    rows = _rows(((f"result {at:,}", entry) for at, entry in enumerate(entries, start=1)), unread)
    if not rows:
        raise _unreadable("no entry of its report has a size and a time")
    return rows


def read_table(text: str, unread: list[str] | None = None) -> tuple[Row, ...]:
    """The rows of what it prints; `unread` gets where others stand.

    Raises `ToolError` (unreadable) when there is no such table.
    """
    entries: list[tuple[str, Mapping[str, Any]]] = []
    columns: list[str] = []
    for line_number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if words and words[0] == "size(B)":
            columns = words
        elif columns and words and words[0].isdigit():
            whole_row = len(words) == len(columns)
            entries.append(
                (f"line {line_number:,}", dict(zip(columns, words, strict=True)) if whole_row else {})
            )
    rows = _rows(entries, unread)
    if not rows:
        raise _unreadable("it printed no table of results")
    return rows


def _rows(entries: Iterable[tuple[str, Mapping[str, Any]]], unread: list[str] | None) -> tuple[Row, ...]:
    rows = []
    for where, entry in entries:
        if (row := _row(entry)) is not None:
            rows.append(row)
        elif unread is not None and whole(entry.get("size(B)")) != 0:  # of 0 B nothing moves
            unread.append(where)
    return tuple(rows)


def unit_of(size: int, time_s: float, printed: float | None) -> str:
    """Which "GB" was printed: the one that size and time give. "" when neither does."""
    rate = size / time_s if time_s > 0.0 else 0.0
    if printed is None or not printed > 0.0 or not rate > 0.0:
        return ""
    near = {word: abs(printed * scale / rate - 1.0) for word, scale in (("GB", 1e9), ("GiB", 2.0**30))}
    best = min(near, key=lambda word: near[word])
    return best if near[best] <= UNIT_TOLERANCE else ""


def _row(entry: Mapping[str, Any]) -> Row | None:
    size = whole(entry.get("size(B)"))
    times: dict[str, float] = {}
    rates: dict[str, float] = {}
    for key, value in entry.items():
        match, figure = _COLUMN.fullmatch(str(key)), number(value)
        if match is None or figure is None:
            continue
        if match[1] == "time":
            times[match[2] or "avg"] = figure * 1e-6
        else:
            rates[match[1]] = figure
    if not size or not times:
        return None
    reference = times.get("avg", next(iter(times.values())))
    return Row(
        size=size,
        dtype=str(entry.get("type", "")),
        times_s=times,
        algbw=rates.get("algbw"),
        busbw=rates.get("busbw"),
        unit=unit_of(size, reference, rates.get("algbw")),
        algorithm=str(entry.get("algorithm", "")),
    )


def _unreadable(why: str) -> ToolError:
    return ToolError(
        Trouble.UNREADABLE,
        f"{NAME}: {why}",
        cause="another version of the tool writes another format",
        try_=f"run {NAME} by hand",
    )


HALF_DIGIT = 0.005
"""Rates are printed with two digits behind the point."""

_STATISTICS = ("p50", "avg")
"""The first of these that is there is the time of a row: a median says more than a mean."""
_UNITS = {"GB": "rates were printed in GB/s", "GiB": "rates were printed in GiB/s, called GB/s"}


def read(data: bytes) -> ImportedRun:
    """A report (`--report-to-json-file`) or the printed table. Raises `BadInput` for anything else."""
    text = data.decode("utf-8", "replace")
    unread: list[str] = []
    try:
        rows = (read_report if text.lstrip().startswith("{") else read_table)(text, unread)
    except ToolError as error:
        raise BadInput(
            f"this is no result of {NAME}: {error.what.removeprefix(f'{NAME}: ')}",
            cause="it is another tool's, or the tool ended before its first result",
            try_=f"{NAME} … --report-to-json-file FILE, and import that",
        ) from error
    rates = [(row.algbw, row.busbw) for row in rows if row.algbw and row.busbw]
    cases = tuple(_case(row, max(rates, default=(1.0, 0.0))) for row in rows)
    return ImportedRun(by=NAME, cases=cases, unread=tuple(unread))


def _case(row: Row, rates: tuple[float, float]) -> ImportedCase:
    """`rates` are algbw and busbw of the row whose rates have the most digits."""
    algbw, busbw = rates
    statistic = next((each for each in _STATISTICS if each in row.times_s), next(iter(row.times_s)))
    notes = [f"time: {statistic} of {NAME}"]
    if row.unit:
        notes.append(_UNITS[row.unit])
    if row.algorithm:
        notes.append(f"algorithm: {row.algorithm}")
    return ImportedCase(
        family="collective",
        point={"dtype": row.dtype, "size": row.size},
        time_s=row.times_s[statistic],
        rate_factor=busbw / algbw if busbw else None,
        factor_within=HALF_DIGIT / algbw + HALF_DIGIT / busbw if busbw else 0.0,
        notes=tuple(notes),
    )
