"""The lines of a headline as cards: a generation each, its compute, memory and links below one another."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trnbench.facts.format import percent
from trnbench.results.run import Run
from trnbench.run.headline.line import Line
from trnbench.run.headline.words import at_clock, own_products

ROWS = {"product": "compute", "stream": "memory", "all-reduce": "links"}
"""Question of a line → the row of its generation's card; any other is called by its kernel."""

LARGEST = 2
"""Causes that a clause has room for."""


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One bar of a card, and beside it the largest loss in a clause.

    `line` is None where the run has no case that answers; `clause` then says so. `own` tells how the model
    does with products that others published.
    """

    name: str
    line: Line | None
    clause: str
    own: str = ""


class Card(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run says of one generation; `device` as its documents call it."""

    generation: str
    device: str
    rows: tuple[Row, ...]


def cards(run: Run, lines: Sequence[Line]) -> tuple[Card, ...]:
    """In the order in which the run's systems are shown; a generation without a line has no card.

    Compute, memory and links come in this order, and one that the run did not ask says so, unless the run
    asked none of them.
    """
    order = {record.generation: record.order for record in run.systems.values()}
    devices = {record.generation: record.device for record in run.systems.values()}
    places = {name: place for place, name in enumerate(run.systems)}
    found = sorted(dict.fromkeys(each.generation for each in lines), key=lambda name: order.get(name, 10**6))
    asked = any(each.question in ROWS for each in lines)
    drawn = []
    for generation in found:
        mine = sorted(
            (each for each in lines if each.generation == generation),
            key=lambda each: min(places.get(name, len(places)) for name in each.systems),
        )
        rows = []
        for question, name in ROWS.items() if asked else ():
            answered = [each for each in mine if each.question == question]
            rows += [_row(name, each) for each in answered]
            if not answered:
                rows.append(Row(name=name, line=None, clause="not in this run"))
        rows += [_row(each.kernel, each) for each in mine if each.question not in ROWS]
        drawn.append(Card(generation=generation, device=devices.get(generation, ""), rows=tuple(rows)))
    return tuple(drawn)


def _row(name: str, line: Line) -> Row:
    return Row(name=name, line=line, clause=clause(line), own=own_products(line))


def clause(line: Line) -> str:
    """The largest loss and what it costs; why there is no evidence where there is none.

    Shares are of the time of the best case; at its clock a model has no loss to show, only what the clock
    leaves of the promise.
    """
    if at_clock(line) and line.of is not None and line.clock:
        allowed = line.of.fraction / line.clock
        return f"at its clock, which allows {percent(allowed)} of the promise"
    if line.rest:
        named = (f"{each.name.removesuffix(' in the model')} {percent(each.share)}" for each in line.rest)
        return f"time lost: {', '.join(list(named)[:LARGEST])}"
    short = ""
    if line.of is not None and line.of.fraction < 1:
        short = f"{percent(1 - line.of.fraction)} below the promise"
    return ", ".join(filter(None, (short, f"bound by {line.bound}" if line.bound else "")))
