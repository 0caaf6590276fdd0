"""Coverage of bands as tables and sentences: the same for terminal and docs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trnbench.errors import counted
from trnbench.results.expectation import NOTHING
from trnbench_fidelity.nearness.coverage import ALL, UNSEEN, Coverage
from trnbench_fidelity.tables import grid

HEADS = ("family", "generation", "class", "rows inside", "votes inside", "mean width", "no band")
BEGIN = "<!-- coverage: begin (.ci/renew answers) -->"
END = "<!-- coverage: end -->"
MEANS = (
    "Each published point is judged by a band that knows nothing of its vote. Its kernel, message or model "
    "is left out of the evidence, and of the constants of steps. A vote counts by the share of its rows "
    "inside. Width: half of the band in the mean, as a factor either way. No band: what had been left out "
    "was all that is published of its family on the generation."
)


def cells(row: Coverage) -> tuple[str, ...]:
    """One row under `HEADS`, as people read it."""
    return (
        row.family,
        row.generation,
        row.kind,
        _of(row.inside, row.rows, f"{row.inside}"),
        _of(row.votes_inside, row.votes, f"{row.votes_inside:.1f}".removesuffix(".0")),
        NOTHING if row.width is None else f"×{math.exp(row.width):.2f}",
        str(row.unbanded or NOTHING),
    )


def _of(inside: float, of: int, text: str) -> str:
    return f"{text} of {of} ({100 * inside / of:.0f} %)" if of else NOTHING


def sentence(rows: Sequence[Coverage]) -> str:
    """What all of them come to."""
    (row,) = (row for row in rows if (row.family, row.generation, row.kind) == (ALL, ALL, UNSEEN))
    if row.width is None:
        return f"None of {row.unbanded} published points would have a band without its vote."
    _, _, _, inside, votes, width, _ = (cell.replace(" (", " {} (") for cell in cells(row))
    unbanded = counted(row.unbanded, "row")
    return (
        f"{inside.format('rows')} and {votes.format('votes')} lie in bands that know nothing of them, "
        f"{width} either way in the mean; {unbanded} would have none."
    )


def markdown(rows: Sequence[Coverage]) -> str:
    """As docs/errors.md shows it: each family, and each generation of it, with its vote left out."""
    shown = [row for row in rows if row.kind == UNSEEN]
    heads, table = (HEADS[:2] + HEADS[3:]), [cells(row) for row in shown]
    lines = (sentence(rows), "", MEANS, "", *grid(heads, [(*row[:2], *row[3:]) for row in table]))
    return "\n".join(lines) + "\n"
