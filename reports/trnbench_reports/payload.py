"""What the page carries: the runs, by columns and compressed, for the browser to unpack on demand."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

import trnbench
from trnbench import Run
from trnbench_reports import columns

if TYPE_CHECKING:
    from markupsafe import Markup

DATA = "data-json"
"""Id of the element that holds the runs."""


def payloads(runs: Sequence[Run]) -> list[tuple[str, Markup]]:
    """Element id and what stands in it. Raises `BadInput` for a value that JSON cannot hold."""
    return [(DATA, packed(columns.packed([_text(trnbench.shortened(run)) for run in runs])))]


def packed(data: bytes) -> Markup:
    """Compressed, in letters that HTML needs no escape for; a fixed time stamp keeps the bytes the same."""
    from markupsafe import Markup

    # Markup, so that it is not shortened like text for people.
    return Markup(base64.b64encode(gzip.compress(data, 9, mtime=0)).decode())


def _text(run: Run) -> bytes:
    """The run as JSON. The quicker writer makes null of NaN and text of any key: what does not read back as
    it was goes to the strict one, which refuses it by name."""
    cases = [_written(each, type(each)) for each in run.measurements]
    head = _written(msgspec.structs.replace(run, measurements=()), Run)
    if head is None or None in cases:
        return trnbench.dumps(run)
    empty = b'"measurements":[]'
    at = head.rindex(empty) + len(empty) - 1
    return head[:at] + b",".join(each for each in cases if each) + head[at:]


def _written(value: object, kind: type) -> bytes | None:
    try:
        text = msgspec.json.encode(value)
        return text if msgspec.json.decode(text, type=kind) == value else None
    except (TypeError, ValueError, RecursionError):  # msgspec's own errors are of these
        return None
