"""Whether bands keep their word: each point is judged by bands that know nothing of its vote."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from trnbench.errors import counted
from trnbench.record import Record, grouped
from trnbench.results.expectation import NOTHING
from trnbench.results.measurement import Nearness
from trnbench_fidelity.nearness.bands import BANDED, Ends, class_bands, over, own
from trnbench_fidelity.nearness.evidence import Evidence, Known
from trnbench_fidelity.tables import grid

UNSEEN = "unseen"
"""Class of a point that is judged as if nothing of its vote had been published."""

ALL = "all"
"""Family, or generation, of a row that counts every one."""

Others = Callable[[str], Mapping[str, float]]
"""Vote → the errors that bands may be made of which know nothing of it."""


class Judged(Record, kw_only=True, forbid_unknown_fields=True):
    """A point in a band. `kind` is a class that the point lands in, or `UNSEEN`.

    `inside` and `width` are None where such a number would have no band. `width` is half of the band, ln.
    """

    id: str
    family: str
    generation: str
    vote: str
    kind: str
    inside: bool | None = None
    width: float | None = None


class Coverage(Record, kw_only=True, forbid_unknown_fields=True):
    """Points of one family, generation and class: how many lie in their bands, and how wide these are.

    A vote counts by the share of its rows inside. `width` is the mean half of a band, ln; None without one.
    """

    family: str
    generation: str
    kind: str
    rows: int
    inside: int
    votes: int
    votes_inside: float
    unbanded: int
    width: float | None

    @property
    def share(self) -> float | None:
        """The lesser of the shares of rows and of votes; None where nothing has a band."""
        return min(self.inside / self.rows, self.votes_inside / self.votes) if self.rows else None


def judged(
    evidence: Evidence,
    e_of: Mapping[str, float],
    family: Mapping[str, str],
    ranges: Mapping[str, Ends],
    others: Others | None = None,
) -> Iterator[Judged]:
    """Each point once as `UNSEEN`, and once in each class that it lands in.

    `e_of`: id → e; `ranges`: what assumptions do to the time of a point. `others` gives what bands are made
    of without a vote; usually all other errors.
    """
    rated = [point for point in evidence.points if point.id in e_of]
    for vote in dict.fromkeys(point.vote for point in rated):
        ids = {point.id for point in evidence.points if point.vote == vote}
        known = others(vote) if others else {id: e for id, e in e_of.items() if id not in ids}
        unseen = Evidence(point for point in evidence.points if point.id not in ids)
        mine = [point for point in rated if point.vote == vote]
        for subject in dict.fromkeys((point.subject.generation, point.subject.group) for point in mine):
            bands = class_bands(unseen, known, *subject)
            for point in mine:
                if (point.subject.generation, point.subject.group) != subject:
                    continue
                for name, kind, nearest in _classes(evidence, unseen, point):
                    band = bands.get(kind)
                    if band is not None:
                        band = over(band, ranges.get(nearest))
                    yield Judged(
                        id=point.id,
                        family=family[point.id],
                        generation=subject[0],
                        vote=f"{vote} / {family[point.id]}",
                        kind=name,
                        inside=None if band is None else band.low <= e_of[point.id] <= band.high,
                        width=None if band is None else (band.high - band.low) / 2,
                    )


def _classes(evidence: Evidence, unseen: Evidence, point: Known) -> Iterator[tuple[str, Nearness, str]]:
    """Name of the class, the class, and the nearest point in it."""
    kind, points = unseen.classify(point.subject)
    yield UNSEEN, kind, points[0].id if points else ""
    for kind in BANDED:
        found, points = evidence.classify(point.subject, own(point, kind))
        if found is kind:
            yield str(kind), kind, points[0].id


def coverage_rows(points: Iterable[Judged]) -> tuple[Coverage, ...]:
    """A row for all, one a family on all generations, and behind it each of its generations and classes."""
    kinds = (UNSEEN, *map(str, BANDED))
    rows = list(points)
    families = dict.fromkeys(point.family for point in rows)
    table = [_row(ALL, ALL, kind, [point for point in rows if point.kind == kind]) for kind in kinds]
    for family in families:
        mine = [point for point in rows if point.family == family]
        table.append(_row(family, ALL, UNSEEN, [point for point in mine if point.kind == UNSEEN]))
        for generation in sorted({point.generation for point in mine}):
            of_one = [point for point in mine if point.generation == generation]
            table += [_row(family, generation, kind, [p for p in of_one if p.kind == kind]) for kind in kinds]
    return tuple(row for row in table if row.rows or row.unbanded)


def _row(family: str, generation: str, kind: str, points: Sequence[Judged]) -> Coverage:
    banded = [point for point in points if point.inside is not None]
    votes = grouped(banded, lambda point: point.vote).values()
    widths = [point.width for point in banded if point.width is not None]
    return Coverage(
        family=family,
        generation=generation,
        kind=kind,
        rows=len(banded),
        inside=sum(bool(point.inside) for point in banded),
        votes=len(votes),
        votes_inside=math.fsum(sum(bool(point.inside) for point in vote) / len(vote) for vote in votes),
        unbanded=len(points) - len(banded),
        width=math.fsum(widths) / len(widths) if widths else None,
    )


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
