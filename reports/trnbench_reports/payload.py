"""What the page carries for its script: the runs by columns, compressed."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from typing import TYPE_CHECKING

import trnbench
from trnbench import Run
from trnbench_reports import columns
from trnbench_reports.formats import csv

if TYPE_CHECKING:
    from markupsafe import Markup


def payloads(runs: Sequence[Run]) -> list[tuple[str, Markup]]:
    """(id of the element, its text) of each."""
    return [
        ("data-json", packed(columns.packed([trnbench.dumps(trnbench.shortened(run)) for run in runs]))),
        ("data-csv", packed(columns.table(csv.write(runs).decode(), len(csv.COLUMNS)))),
    ]


def packed(data: bytes) -> Markup:
    """Compressed for the page; a fixed time stamp keeps the bytes the same. Repeats cost nothing."""
    from markupsafe import Markup

    # Markup, so that it is not shortened like text for people; base64 needs no escape.
    return Markup(base64.b64encode(gzip.compress(data, 9, mtime=0)).decode())
