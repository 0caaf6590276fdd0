"""Section 1: the headline that the core makes, and what was run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trnbench import Headline, Run, headline
from trnbench_reports import view
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True, kw_only=True)
class Item:
    """The words of a line as the core says them; `share` leads to the case at `anchor`."""

    subject: str
    result: str
    share: str
    promise: str
    trust: str
    detail: str
    anchor: str
    colour: int
    faint: bool


def render(runs: Sequence[Run]) -> Markup:
    parts = []
    for index, run, heading in view.each_run(runs):
        found = headline(run)
        counts = [(str(status), count) for status, count in run.counts().items()]
        parts.append((heading, run, found, items(index, run, found), counts))
    return fill("headline", parts=parts)


def items(index: int, run: Run, found: Headline) -> list[Item]:
    """In the order of the core: what may be believed first."""
    cases = {each.id: each for each in run.measurements}
    return [
        Item(
            **said._asdict(),
            anchor=view.anchor(index, cases[line.sweep.case]),
            colour=view.colour(run, line.generation),
            faint=line.muted,
        )
        for line, said in found.said
    ]
