"""JSON out of what a program printed, with log lines before, behind and inside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from trnbench.bounded.nesting import deepest
from trnbench_neuron.tool import ToolError, Trouble

# Times, levels, and the names that components of the Neuron runtime put before a line.
_LOG = re.compile(
    r"^\s*(\d{4}[-/ ][\w: ./-]*\d|\[?\d{2}:\d{2}:\d{2}"
    r"|[\[(<]?(TRACE|DEBUG|INFO|WARN(ING)?|ERROR|FATAL|CRITICAL)\b|(TDRV|NMGR|NRT|KMGR|KBL|ENC|NDL|HAL|CCOM)\b)"
)
_DECODER = json.JSONDecoder()


def json_of(name: str, text: str, kind: type) -> Any:
    """The largest JSON value of `kind` (list or dict) that begins a line of `text`.

    Lines of a log are left out first: one inside the value would break it, and "[1]" is a list, too.
    Raises `ToolError` (unreadable) when there is none.
    """
    for attempt in (without_log_lines(text), text):
        found = max(_values(attempt, kind), key=lambda pair: pair[0], default=None)
        if found is not None:
            return found[1]
    said = next((line.strip()[:200] for line in text.splitlines() if line.strip()), "nothing")
    raise ToolError(
        Trouble.UNREADABLE,
        f"{name} printed no JSON {'list' if kind is list else 'object'}",
        cause=f"it begins with: {said!r}" if said != "nothing" else "it printed nothing",
        try_=f"run {name} by hand; another version may print another format",
    )


def without_log_lines(text: str) -> str:
    """`text` without the lines that look like a log's."""
    return "\n".join(line for line in text.splitlines() if not _LOG.match(line))


def _values(text: str, kind: type) -> Iterator[tuple[int, Any]]:
    opening = re.compile(r"^[ \t]*" + (r"\[" if kind is list else r"\{"), re.MULTILINE)
    at = 0
    while match := opening.search(text, at):
        begins = match.end() - 1
        try:
            value, at = _DECODER.raw_decode(text, begins)
        except (ValueError, RecursionError):  # also a number of more than 4,300 digits
            at = match.end()
            continue
        if not deepest(value):
            yield at - begins, value
