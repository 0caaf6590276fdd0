"""Disagreements for people: a block of lines each, none wider than a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trnbench.cli import terminal
from trnbench.cli.output import clean

if TYPE_CHECKING:
    from trnbench.cli.spec.figures import Row

WIDTH = 100
"""Columns, where the terminal does not have fewer."""


def width() -> int:
    """Of the terminal, 100 at most and where there is none."""
    return min(terminal.width() or WIDTH, WIDTH)


def block(row: Row, wide: int) -> str:
    """Who it is about, then a line for each side, then the note.

    trn1 · value · trn1.2xlarge · efa_bandwidth · 2.000 · C04
        up to 25 Gbps (seed-trn1: instance size table, row Trn1.2xlarge)
        up to 12.5 Gbps (…)
        note: …
    """
    ratio = row["ratio"]
    ratio = f"{ratio:.3f} times" if isinstance(ratio, float) else ""
    names = (row["generation"], row["rule"], row["subject"], row["metric"], ratio, row["disputes"])
    lines = [_wrapped(" · ".join(str(each) for each in names if each), wide, "", "  ")]
    lines += [_wrapped(side, wide, "    ", "      ") for side in str(row["claims"]).split(" | ")]
    if row["note"]:
        lines.append(_wrapped(f"note: {row['note']}", wide, "    ", "      "))
    return "\n".join(lines)


def blocks(rows: Sequence[Row], wide: int) -> str:
    """All of them, an empty line between."""
    return "".join(f"{block(row, wide)}\n\n" for row in rows).removesuffix("\n")


def _wrapped(text: str, wide: int, first: str, rest: str) -> str:
    return textwrap.fill(
        clean(text), wide, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
