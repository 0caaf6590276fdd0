"""Contradictions between documents, each with every value and every source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import trnbench
from trnbench import Assembly, Dispute, FactBook, Run, Scope, Source, SystemRecord
from trnbench_reports import numbers, view, words


@dataclass(frozen=True, kw_only=True)
class Side:
    """What one document says, and where."""

    value: str
    source: str
    locator: str = ""
    superseded: str = ""


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """`found` says by which rule, or that no rule can find it. `ratio` of the largest to the smallest."""

    id: str
    topic: str
    about: str
    sides: tuple[Side, ...]
    found: str
    ratio: str
    note: str


def disagreements(run: Run) -> list[tuple[str, list[Contradiction]]]:
    """By generation: those the fact files name, then what the rules find besides."""
    made = []
    for generation in dict.fromkeys([*(r.generation for r in view.systems(run)), *run.books]):
        book = run.books.get(generation)
        if book is not None and (found := _of(book, assemblies(run, generation))):
            made.append((generation, found))
    return made


def assemblies(run: Run, generation: str) -> list[Assembly]:
    """What the run's systems are made of.

    The instance a larger system is made of is not recorded; it is the one that holds a host's devices.
    """
    records = [record for record in view.systems(run) if record.generation == generation]
    return [
        Assembly(
            subject=record.instance,
            scope=record.scope,
            device=record.device,
            core=record.core,
            parent=_parent(record, records),
        )
        for record in records
    ]


def _parent(record: SystemRecord, records: Sequence[SystemRecord]) -> str:
    if record.scope is Scope.INSTANCE or record.hosts < 2:
        return ""
    return next(
        (
            other.instance
            for other in records
            if other.scope is Scope.INSTANCE and other.devices * record.hosts == record.devices
        ),
        "",
    )


def _of(book: FactBook, made_of: Sequence[Assembly]) -> list[Contradiction]:
    findings = trnbench.check_facts(book, made_of)
    by_dispute: dict[str, list[trnbench.Disagreement]] = defaultdict(list)
    for each in findings.found:
        for name in each.disputes:
            by_dispute[name].append(each)
    named = [_named(dispute, by_dispute[dispute.id], book.sources) for dispute in book.disputes]
    return named + [_found(each, book.sources) for each in findings.unnamed]


def _named(
    dispute: Dispute, findings: Sequence[trnbench.Disagreement], known: dict[str, Source]
) -> Contradiction:
    """The dispute's own values; those the rules found besides are added once each."""
    count = max(len(dispute.values), len(dispute.sources))
    paired = len(dispute.values) == len(dispute.sources)
    if paired:
        sides = [
            Side(value=value, source=cite(known, source))
            for value, source in zip(dispute.values, dispute.sources, strict=True)
        ]
    else:
        # The lists do not pair up: all values, then all documents, and no guess which said what.
        sides = [
            Side(
                value=dispute.values[i] if i < len(dispute.values) else "",
                source="" if i < len(dispute.values) else cite(known, dispute.sources[i]),
            )
            for i in range(count)
        ]
        if len(dispute.sources) <= len(dispute.values):
            sides.append(Side(value="", source=words.listed([cite(known, s) for s in dispute.sources])))
    rules = list(dict.fromkeys(each.rule for each in findings))
    ratios = [each.ratio for each in findings if each.ratio]
    return Contradiction(
        id=dispute.id,
        topic=dispute.topic,
        about=", ".join(dispute.subjects),
        sides=tuple(sides),
        found=f"rule {words.listed(rules)}" if rules else "by reading: no rule can",
        ratio=_ratio(max(ratios)) if ratios else "",
        note=dispute.note,
    )


def _found(each: trnbench.Disagreement, known: dict[str, Source]) -> Contradiction:
    marks = [*each.dtypes, "sparse" if each.sparse else "", each.qualifier]
    return Contradiction(
        id="",
        topic=" ".join(filter(None, (each.subject, each.metric.replace("_", " ")))),
        about=", ".join(filter(None, marks)),
        sides=tuple(
            Side(
                value=claim.text,
                source=cite(known, claim.source),
                locator=claim.locator,
                superseded=cite(known, claim.superseded_by) if claim.superseded_by else "",
            )
            for claim in each.claims
        ),
        found=f"rule {each.rule}",
        ratio=_ratio(each.ratio) if each.ratio else "",
        note=each.note,
    )


def _ratio(ratio: float) -> str:
    """How far apart: per cent while that is small, times beyond."""
    if ratio < 1.995:
        return f"{numbers.significant((ratio - 1) * 100, 2)}{numbers.NBSP}% apart"
    return f"{numbers.times(ratio)} apart"


def cite(known: dict[str, Source], id: str) -> str:
    """Document and version of a source, its id when the book does not hold it."""
    source = known.get(id)
    return ", ".join(filter(None, (source.document, source.version))) if source else id
