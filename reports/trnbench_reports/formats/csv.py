"""One row per metric of each case: every number with evidence, unit, scope, direction and source."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from trnbench import METRIC_COLUMNS, Run, metric_rows
from trnbench_reports import numbers

COLUMNS = tuple(METRIC_COLUMNS)


def write(runs: Sequence[Run]) -> bytes:
    """UTF-8, comma, \\n; a case without metrics (failed, skipped) has one row with empty numbers."""
    out = io.StringIO(newline="")
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    for run in runs:
        rows.writerows([_safe(cell) for cell in row] for row in metric_rows(run))
    return out.getvalue().encode("utf-8")


def _safe(value: object) -> object:
    """Words that a spreadsheet would run as a formula get a quote in front; numbers stay numbers."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    text = numbers.valid(str(value))
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
