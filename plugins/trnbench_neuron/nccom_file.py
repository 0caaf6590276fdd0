"""What `nccom-test` printed or wrote as JSON, as results to import.

Times are believed, printed rates are not: their unit is GB in some versions and GiB in others, and both are
called GB/s (contradiction C28); which one it was stands in the notes.
"""

from __future__ import annotations

from trnbench.errors import BadInput
from trnbench.results.imported import ImportedCase, ImportedRun
from trnbench_neuron.nccom import NAME, Row, read_report, read_table
from trnbench_neuron.tool import ToolError

_STATISTICS = ("p50", "avg")
"""The first of these that is there is the time of a row: a median says more than a mean."""
_UNITS = {"GB": "rates were printed in GB/s", "GiB": "rates were printed in GiB/s, called GB/s"}


def read(data: bytes) -> ImportedRun:
    """A report (`--report-to-json-file`) or the printed table. Raises `BadInput` for anything else."""
    text = data.decode("utf-8", "replace")
    try:
        rows = read_report(text) if text.lstrip().startswith("{") else read_table(text)
    except ToolError as error:
        raise BadInput(
            f"this is no result of {NAME}: {error.what.removeprefix(f'{NAME}: ')}",
            cause="it is another tool's, or the tool ended before its first result",
            try_=f"{NAME} … --report-to-json-file FILE, and import that",
        ) from error
    factors = [row.factor for row in rows if row.factor is not None and row.algbw]
    # The last rows have the most digits.
    factor = factors[-1] if factors else None
    return ImportedRun(by=NAME, cases=tuple(_case(row, factor) for row in rows))


def _case(row: Row, factor: float | None) -> ImportedCase:
    statistic = next((each for each in _STATISTICS if each in row.times_s), next(iter(row.times_s)))
    notes = [f"time: {statistic} of {NAME}"]
    if row.unit:
        notes.append(_UNITS[row.unit])
    if row.algorithm:
        notes.append(f"algorithm: {row.algorithm}")
    return ImportedCase(
        point={"dtype": row.dtype, "size": row.size},
        time_s=row.times_s[statistic],
        rate_factor=factor,
        notes=tuple(notes),
    )
