"""What nccl-tests prints, and what `export --as nccl-tests` writes in its columns.

Format: NVIDIA/nccl-tests, README and src/common.cu: a table below a header that begins with size, count,
type, redop and root, for each size the time in µs, algbw and busbw in GB/s of 10⁹ bytes and #wrong, out of
place and then in place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from trnbench import BadInput, ImportedCase, ImportedRun

COLLECTIVES = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
    "sendrecv": "permute",
}
"""Its programs, without `_perf`, and our words for what they measure."""
DTYPES = {"float": "fp32", "half": "fp16", "bfloat16": "bf16", "double": "fp64", "f8e4m3": "fp8"}

HALF_DIGIT = 0.005
"""Rates are printed with two digits behind the point."""

_STARTS = re.compile(r"# Collective test starting: (\w+)_perf")
_RANK = re.compile(r"#\s+Rank\s+\d+\s")
_VERSION = re.compile(r"# nccl-tests version (\S+)")
_OURS = re.compile(r"# trnbench (\w+)(?:\[(\S*)\])? on (\S+), (\S+), (\w+) by ")
_LIKE_A_ROW = re.compile(r"\s*\d+\s+\S")
_ROW = re.compile(
    r"\s*(?P<size>\d+)\s+(?P<count>\d+)\s+(?P<type>\S+)\s+(?P<redop>\S+)\s+(?P<root>-?\d+)"
    r"\s+(?P<time>\d[\d.]*)\s+(?P<algbw>\d[\d.]*)\s+(?P<busbw>\d[\d.]*)\s+(?P<wrong>\S+)"
    r"(?:\s+(?P<in_time>\d[\d.]*)\s+(?P<in_algbw>\d[\d.]*)\s+(?P<in_busbw>\d[\d.]*)\s+(?P<in_wrong>\S+))?"
)


def read(data: bytes) -> ImportedRun:
    """Times out of place; those in place stand in the notes. Raises `BadInput` where there is no table."""
    rows: list[tuple[re.Match[str], _Head]] = []
    unread: list[str] = []
    head, version, headed = _Head(), "", False
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        if match := _OURS.match(line):
            kernel, point, instance, scope, grade = match.groups()
            head = _Head(kernel, instance, scope, grade, axes=point or _Head().axes)
        elif match := _STARTS.match(line):
            head = head._replace(kernel=COLLECTIVES.get(match[1], match[1]))
        elif match := _VERSION.match(line):
            version = match[1]
        elif _RANK.match(line):
            # Behind a table they are those of the next program.
            head, headed = head._replace(ranks=1 if headed else head.ranks + 1), False
        elif line.lstrip("# ").startswith("size") and "busbw" in line:
            headed = True
        elif headed and (match := _ROW.match(line)):
            if match["size"].strip("0"):  # of 0 B nothing moves
                rows.append((match, head))
        elif headed and _LIKE_A_ROW.match(line):
            unread.append(f"line {number:,}")
    if not rows:
        raise BadInput(
            "this is no table of nccl-tests",
            cause="it has no header with size, count, type and busbw, or no row below it",
            try_="all_reduce_perf -b 8 -e 128M -f 2 > results.txt",
        )
    rates: dict[_Head, tuple[float, float]] = {}
    for match, head in rows:
        rates[head] = max(rates.get(head, (0.0, 0.0)), (_number(match["algbw"]), _number(match["busbw"])))
    by = f"trnbench's own table of {head.grade} times" if head.grade else f"nccl-tests {version}".strip()
    cases = tuple(_case(match, head, *rates[head]) for match, head in rows)
    return ImportedRun(by=by, cases=cases, unread=tuple(unread))


class _Head(NamedTuple):
    """What the lines above a table say; "" and 0 where they do not. `axes` without a value have a column."""

    kernel: str = ""
    instance: str = ""
    scope: str = ""
    grade: str = ""
    ranks: int = 0
    axes: str = "dtype,size"


def _case(match: re.Match[str], head: _Head, algbw: float, busbw: float) -> ImportedCase:
    """`algbw` and `busbw` of the row whose rates have the most digits."""
    told = algbw > 0.0 and busbw > 0.0
    wrong = int(match["wrong"]) if match["wrong"].isascii() and match["wrong"].isdigit() else None
    notes = ("time out of place", f"in place: {match['in_time']} µs") if match["in_time"] else ()
    columns = {"dtype": DTYPES.get(match["type"], match["type"]), "size": _whole(match["size"])}
    return ImportedCase(
        kernel=head.kernel,
        family="collective",
        instance=head.instance,
        scope=head.scope,
        grade=head.grade,
        ranks=head.ranks,
        point=dict(_axis(word, columns) for word in head.axes.split(",")),
        time_s=_number(match["time"]) * 1e-6,
        rate_factor=busbw / algbw if told else None,
        factor_within=HALF_DIGIT / algbw + HALF_DIGIT / busbw if told else 0.0,
        wrong=wrong,
        notes=notes,
    )


def _axis(word: str, columns: Mapping[str, Any]) -> tuple[str, Any]:
    """`tokens=128` as a name and its value, which a column has where the word has none."""
    name, equals, value = word.partition("=")
    if not equals:
        return name, columns.get(name, "")
    return name, _whole(value) if value.isascii() and value.isdigit() else value


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise _unreadable(text) from None
    if not math.isfinite(number):  # of more digits than a float has
        raise _unreadable(text)
    return number


def _whole(text: str) -> int:
    if len(text) > 18:
        raise _unreadable(text)
    return int(text)


def _unreadable(text: str) -> BadInput:
    return BadInput(
        f"{text[:40]!r} in a table of nccl-tests is no number",
        cause="the line is cut or mixed with another program's",
        try_="one program's output in the file",
    )
