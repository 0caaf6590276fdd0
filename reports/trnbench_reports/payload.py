"""What the page carries: the runs, by columns and compressed, for the browser to unpack on demand."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from typing import TYPE_CHECKING

import trnbench
from trnbench import Run
from trnbench_reports import columns

if TYPE_CHECKING:
    from markupsafe import Markup

DATA = "data-json"
"""Id of the element that holds the runs."""


def payloads(runs: Sequence[Run]) -> list[tuple[str, Markup]]:
    """Element id and what stands in it. Raises `BadInput` for a value that JSON cannot hold."""
    short = [trnbench.shortened(run) for run in runs]
    try:
        return [(DATA, packed(columns.packed(short)))]
    except (ValueError, TypeError, RecursionError):
        for run in short:  # names the value
            trnbench.dumps(run)
        raise


def packed(data: bytes) -> Markup:
    """Compressed, in letters that HTML needs no escape for; a fixed time stamp keeps the bytes the same."""
    from markupsafe import Markup

    # Markup, so that it is not shortened like text for people.
    return Markup(base64.b64encode(gzip.compress(data, 6, mtime=0)).decode())
