"""What the page carries: the runs, by columns and compressed, for the browser to unpack on demand."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

import trnbench
from trnbench import Measurement, Run
from trnbench_reports import columns

if TYPE_CHECKING:
    from markupsafe import Markup

DATA = "data-json"
"""Id of the element that holds the runs."""


def payloads(runs: Sequence[Run]) -> list[tuple[str, Markup]]:
    """Element id and what stands in it. Raises `BadInput` for a value that JSON cannot hold."""
    short = [trnbench.shortened(run) for run in runs]
    heads = [_written(msgspec.structs.replace(run, measurements=())) for run in short]
    cases = [[_written(each) for each in run.measurements] for run in short]
    if not runs or b"" in heads or any(b"" in found for found in cases):
        return [(DATA, packed(columns.packed([trnbench.dumps(run) for run in short])))]
    return [(DATA, packed(columns.packed_with(heads, "measurements", cases)))]


def packed(data: bytes) -> Markup:
    """Compressed, in letters that HTML needs no escape for; a fixed time stamp keeps the bytes the same."""
    from markupsafe import Markup

    # Markup, so that it is not shortened like text for people.
    return Markup(base64.b64encode(gzip.compress(data, 9, mtime=0)).decode())


def _written(value: Run | Measurement) -> bytes:
    """As JSON by the quicker writer, which makes null of NaN and text of any key: empty where it does not
    read back as it was, for the strict one to write, or to refuse by name."""
    try:
        text = msgspec.json.encode(value)
        return text if msgspec.json.decode(text, type=type(value)) == value else b""
    except (TypeError, ValueError, RecursionError):  # msgspec's own errors are of these
        return b""
