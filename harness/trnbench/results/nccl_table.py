"""The table of nccl-tests: its header, columns and closing lines, ours behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trnbench.facts.units import percent

TYPES = {
    "fp32": "float",
    "fp16": "half",
    "bf16": "bfloat16",
    "fp64": "double",
    "int8": "int8",
    "fp8": "f8e4m3",
}
"""Our words for data types as nccl-tests prints them; others are printed as they are."""
REDUCES = ("all_reduce", "reduce_scatter", "reduce_scatter_v", "reduce", "barrier")
ROOTED = ("broadcast", "reduce")
CHECKED = "N/A"
"""In column #wrong: a model moves no data, so nothing was checked."""

WIDTHS = (12, 12, 10, 7, 6, 11, 8, 8, 6)
HEADS = ("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong")
UNITS = ("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "")
OURS = ("algorithm", "%peak", "%bound", "bound", "evidence", "near", "expect")
WIDTHS_OF_OURS = (18, 7, 7, 8, 9, 9, 17)
FIRST_TO_GO = (
    *("#wrong", "root", "redop", "count", "type"),
    *("bound", "%bound", "algorithm", "near", "algbw", "expect", "%peak"),
)
"""Columns that a terminal has no room for, in this order; what goes to a parser has them all."""


def operation(collective: str) -> tuple[str, int]:
    """The words of columns redop and root: what is reduced, and who has or gets it."""
    return "sum" if collective in REDUCES else "none", 0 if collective in ROOTED else -1


def table(
    title: str, rows: Sequence[Mapping[str, Any]], notes: Sequence[str] = (), *, room: int | None = None
) -> list[str]:
    """All of its lines, for at least one row; `room`: those of its columns that lines of so many characters
    hold (`left_out` says which do not), None for all."""
    gone = left_out(room)
    return [*_header(title, notes, gone), *_lines(rows, gone), *_footer(rows)]


def left_out(room: int | None) -> tuple[str, ...]:
    """Headings of the columns that lines of `room` cannot hold; None: none of them."""
    gone = 0
    while room is not None and gone < len(FIRST_TO_GO) and _wide(FIRST_TO_GO[:gone]) > room:
        gone += 1
    return FIRST_TO_GO[:gone]


def _wide(without: Sequence[str]) -> int:
    theirs = [wide for head, wide in zip(HEADS, WIDTHS, strict=True) if head not in without]
    ours = [wide for head, wide in zip(OURS, WIDTHS_OF_OURS, strict=True) if head not in without]
    return sum(theirs) + len(theirs) + sum(ours) + 2 * len(ours)


def _header(title: str, notes: Sequence[str], gone: Sequence[str]) -> list[str]:
    """The lines above the rows, in the columns of nccl-tests and nccom-test; ours stand behind them."""
    return [
        f"# {title}",
        *(f"# {note}" for note in notes),
        "#",
        _line("#", HEADS, OURS, gone),
        _line("#", UNITS, ("", "", "", "", "", "", "(us)"), gone),
    ]


def _lines(rows: Sequence[Mapping[str, Any]], gone: Sequence[str]) -> list[str]:
    """A line for each row: times in µs, bandwidths in GB/s of 1e9 bytes."""
    return [
        _line(
            " ",
            (
                str(row["size"]),
                str(row["count"]),
                TYPES.get(row["type"], row["type"]),
                row["redop"],
                str(row["root"]),
                _digits(row["time_s"] * 1e6),
                f"{row['algbw_gb_s']:.2f}",
                f"{row['busbw_gb_s']:.2f}",
                CHECKED,
            ),
            (
                row["algorithm"] or "-",
                "-" if row["peak_share"] is None else _share(row["peak_share"]),
                "-" if row["bound_share"] is None else _share(row["bound_share"]),
                row["bound"] or "-",
                row["evidence"],
                row["nearness"] or "-",
                _interval(row["expected_low_s"], row["expected_high_s"]),
            ),
            gone,
        )
        for row in rows
    ]


def _footer(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What parsers of those tools look for at the end: the mean bus bandwidth in GB/s."""
    mean = sum(row["busbw_gb_s"] for row in rows) / len(rows)
    return ["# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {mean:g}", "#"]


def _line(lead: str, cells: Sequence[str], ours: Sequence[str], gone: Sequence[str]) -> str:
    padded = " ".join(
        cell.rjust(width) for cell, width, head in zip(cells, WIDTHS, HEADS, strict=True) if head not in gone
    )
    behind = "  ".join(
        cell.ljust(width)
        for cell, width, head in zip(ours, WIDTHS_OF_OURS, OURS, strict=True)
        if head not in gone
    )
    return f"{lead}{padded}  {behind}".rstrip()


def _digits(microseconds: float) -> str:
    """As nccl-tests: four significant places, no exponent."""
    return f"{microseconds:.2f}" if microseconds < 1000 else f"{microseconds:.1f}"


def _interval(low: float | None, high: float | None) -> str:
    """Where an inequality alone bounds the time there is no least."""
    if high is None:
        return "-"
    return f"up to {_digits(high * 1e6)}" if low is None else f"{_digits(low * 1e6)} to {_digits(high * 1e6)}"


def _share(value: float) -> str:
    return percent(value).removesuffix(" %")
