"""Contradictions between documents, each with every value and every source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trnbench import Dispute, Run, Source


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """`sides` are (value, source) pairs; `found` says whether a rule or a person found it."""

    id: str
    generation: str
    topic: str
    sides: tuple[tuple[str, str], ...]
    subjects: tuple[str, ...]
    found: str
    note: str


def disagreements(run: Run) -> list[Disagreement]:
    """Those the fact files name, in their order."""
    made = []
    for generation, book in run.books.items():
        for dispute in book.disputes:
            made.append(_known(generation, dispute, book.sources))
    return made


def _known(generation: str, dispute: Dispute, sources: dict[str, Source]) -> Disagreement:
    return Disagreement(
        id=dispute.id,
        generation=generation,
        topic=dispute.topic,
        sides=_sides(dispute.values, dispute.sources, sources),
        subjects=dispute.subjects,
        found=f"rule {dispute.rule}" if dispute.rule else "by reading: no rule can",
        note=dispute.note,
    )


def _sides(
    values: Sequence[str], ids: Sequence[str], sources: dict[str, Source]
) -> tuple[tuple[str, str], ...]:
    """Value by value with its source; the shorter list is filled up."""
    count = max(len(values), len(ids))
    return tuple(
        (
            values[i] if i < len(values) else "",
            _cite(sources.get(ids[i]), ids[i]) if i < len(ids) else "",
        )
        for i in range(count)
    )


def _cite(source: Source | None, id: str) -> str:
    if source is None:
        return id
    return ", ".join(filter(None, (source.document, source.version)))
