"""Sequences of published versions of one kernel, and whether the model sees which is faster, and by how much.

The error of each alone does not answer that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Listed
from itertools import combinations
from pathlib import Path
from types import MappingProxyType

from trnbench.errors import counted
from trnbench.facts.table import Place, near, read_content
from trnbench.record import Record, grouped
from trnbench.results.expectation import NOTHING, signed_text, size_text
from trnbench.results.fidelity import LARGE_GAIN, LEAST_GAIN, Comparison, Step
from trnbench.results.statistics import median
from trnbench_fidelity.point import PublishedPoint
from trnbench_fidelity.published_points import tables_of

_KEYS: dict[str, type] = {"name": str, "points": list, "source": str, "unpriced": dict, "assumed": dict}


class Sequence(Record, kw_only=True):
    """`points` are ids in the order in which the source publishes the versions.

    `unpriced`: what sets a version apart from earlier ones that the model does not price. `assumed`: "before
    after" → the switches of the compiler without any one of which the model turns the two round.
    """

    name: str
    points: tuple[str, ...]
    source: str
    generation: str = ""
    unpriced: Mapping[str, str] = MappingProxyType({})
    assumed: Mapping[str, str] = MappingProxyType({})


def load_sequences(path: Path, points: Iterable[PublishedPoint]) -> tuple[Sequence, ...]:
    """The [[sequence]] tables of a file of published points, whose points these are.

    Raises `FactError` for an unknown or missing key, a name used twice, fewer than two points, a point that
    is not in the file or named twice, and points of two quantities.
    """
    known = {point.id: point for point in points}
    place = Place(path)
    sequences: dict[str, Sequence] = {}
    for where, row in place.tables(tables_of(path, read_content(path)), "sequence"):
        where.check(row, _KEYS, ("name", "points", "source"))
        name, ids = row["name"], tuple(row["points"])
        where = place.at(f"sequence {name!r}")
        if name in sequences:
            raise where.error("is there twice", try_="give each sequence a name of its own")
        if len(set(ids)) < 2 or len(set(ids)) != len(ids):
            raise where.error("needs two points or more, each once", try_='points = ["before", "after"]')
        for key in ("unpriced", "assumed"):
            for id in (each for pair in row.get(key, {}) for each in pair.split()):
                if id not in ids:
                    raise where.error(f"{key} names {id!r}, which is not in it", cause=near(id, ids))
        for id in ids:
            if id not in known:
                raise where.error(f"names {id!r}, which is no point of the file", cause=near(id, known))
        quantities = sorted({str(known[id].quantity) for id in ids})
        if len(quantities) > 1:
            raise where.error(f"mixes {' and '.join(quantities)}", try_="points of one quantity")
        sequences[name] = Sequence(
            name=name,
            points=ids,
            source=row["source"],
            generation=known[ids[0]].generation,
            unpriced=row.get("unpriced", {}),
            assumed=row.get("assumed", {}),
        )
    return tuple(sequences.values())


RANKED = 4
"""From so many versions on a sequence has a rank correlation."""


def pairs(sequence: Sequence, rows: Mapping[str, Comparison]) -> list[Step]:
    """Every two versions that have a published value, from the comparisons of its points by id.

    Those without a model's answer for both are not covered: their `model` is None.
    """
    versions = [rows[id] for id in sequence.points if id in rows and rows[id].published]
    return [
        _pair(sequence, before, after, last - first)
        for (first, before), (last, after) in combinations(enumerate(versions), 2)
    ]


def _pair(sequence: Sequence, before: Comparison, after: Comparison, apart: int) -> Step:
    assert before.published is not None
    assert after.published is not None
    change = math.log(after.published / before.published) * (1 if after.unit == "s" else -1)
    model, tied = None, False
    if before.e is not None and after.e is not None:
        model = change + after.e - before.e
        tied = f"{before.emulated:.4g}" == f"{after.emulated:.4g}"
    return Step(
        sequence=sequence.name,
        generation=sequence.generation,
        source=sequence.source,
        start=before.id,
        end=after.id,
        published=change,
        model=model,
        apart=apart,
        tied=tied,
        note=_note(sequence, before.id, after.id, tied=tied),
    )


def _note(sequence: Sequence, start: str, end: str, *, tied: bool) -> str:
    """What decides the order where that is no cost, or why the model has none."""
    if tied:
        why = sequence.unpriced.get(end) or sequence.unpriced.get(start) or "what sets them apart"
        return f"the model cannot tell them apart: it does not price {why}"
    if switch := sequence.assumed.get(f"{start} {end}"):
        return f"only an assumption of the compiler decides their order: {switch}"
    return ""


class Order(Record, kw_only=True):
    """`pairs` that differ by more than 3 % and have an answer, and how many are `kept` in order.

    `large` ones are a factor of 1.2 and more apart. `off`: |ln(model / published gain)| of steps to the next
    version, in the median. `tau`: Kendall's rank correlation by sequence of four versions and more.
    `missing`: pairs that are not covered.
    """

    pairs: int
    kept: int
    tied: int
    large: int
    large_kept: int
    off: float | None
    tau: dict[str, float]
    missing: int

    @property
    def tau_mean(self) -> float | None:
        """Over sequences; None where none is that long."""
        return sum(self.tau.values()) / len(self.tau) if self.tau else None


def order_of(steps: Iterable[Step]) -> Order:
    """Of all pairs of all sequences together."""
    all_ = list(steps)
    apart = [each for each in all_ if abs(each.published) > LEAST_GAIN]
    covered = [each for each in apart if each.model is not None]
    large = [each for each in covered if abs(each.published) >= LARGE_GAIN]
    gains = [abs(each.off) for each in covered if each.apart == 1 and each.off is not None]
    return Order(
        pairs=len(covered),
        kept=sum(each.in_order is True for each in covered),
        tied=sum(each.tied for each in covered),
        large=len(large),
        large_kept=sum(each.in_order is True for each in large),
        off=median(gains) if gains else None,
        tau=_taus(all_),
        missing=len(apart) - len(covered),
    )


def _taus(steps: Listed[Step]) -> dict[str, float]:
    """Kendall's τ-a of each sequence: pairs in order less pairs out of order, of all its pairs; a tie is
    neither."""
    covered = (step for step in steps if step.model is not None)
    by_name = grouped(covered, lambda step: f"{step.generation} {step.sequence}")
    taus = {}
    for name, mine in by_name.items():
        if len({id for each in mine for id in (each.start, each.end)}) < RANKED:
            continue
        signs = [0 if each.tied else math.copysign(1, (each.model or 0.0) * each.published) for each in mine]
        taus[name] = sum(signs) / len(signs)
    return taus


def order_text(steps: Iterable[Step]) -> str:
    """`order kept in 31 of 35 pairs (2 ties), in 20 of 21 that are a factor of 1.2 and more apart; …`"""
    order = order_of(steps)
    text = f"order kept in {order.kept} of {order.pairs} pairs"
    if order.tied:
        text += f" ({order.tied} {'tie' if order.tied == 1 else 'ties'})"
    if order.large:
        text += f", in {order.large_kept} of {order.large} that are a factor of 1.2 and more apart"
    if order.off is not None:
        text += f"; a step's gain off by {size_text(order.off)} in the median"
    if order.tau_mean is not None:
        sequences = counted(len(order.tau), "sequence")
        text += f"; Kendall's τ {order.tau_mean:.2f} in the mean of {sequences}"
    return text + (f"; {order.missing} not covered" if order.missing else "")


def by_order(steps: Iterable[Step]) -> list[Step]:
    """Pairs that differ, out of order first, then by how far the ratio is off, then those not covered."""
    return sorted(
        (step for step in steps if abs(step.published) > LEAST_GAIN),
        key=lambda each: (each.model is None, each.in_order is True, -abs(each.off or 0.0), each.end),
    )


def notes(steps: Iterable[Step]) -> list[str]:
    """A sentence for each pair that differs and whose order no cost decides."""
    return [f"{each.start} and {each.end}: {each.note}." for each in by_order(steps) if each.note]


STEPS = ("from", "to", "published", "model", "ratio off", "order")


def step_cells(step: Step) -> tuple[str, ...]:
    """One row under `STEPS`: changes of the time, and ratio of the model / published ratio."""
    cells = (NOTHING, NOTHING, "not covered")
    if step.model is not None and step.off is not None:
        order = "kept" if step.in_order else "tie" if step.tied else "turned round"
        cells = (signed_text(step.model), signed_text(step.off), order)
    return (step.start, step.end, signed_text(step.published), *cells)
