"""What the documents say: figures, sources, assumptions, and where two of them disagree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import trnbench
from trnbench import (
    Assembly,
    Direction,
    Dispute,
    Fact,
    FactBook,
    Measurement,
    Peak,
    PeakChoice,
    Record,
    Run,
    Scope,
    Source,
    SystemRecord,
)
from trnbench_reports import numbers, view
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup


class Side(Record, kw_only=True):
    """What one document says, and where."""

    value: str
    source: str
    locator: str = ""
    superseded: str = ""


class Contradiction(Record, kw_only=True):
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
    contradictions = []
    for generation in dict.fromkeys([*(r.generation for r in view.systems(run)), *run.books]):
        book = run.books.get(generation)
        if book is not None and (findings := _of(book, assemblies(run, generation))):
            contradictions.append((generation, findings))
    return contradictions


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
    for disagreement in findings.found:
        for name in disagreement.disputes:
            by_dispute[name].append(disagreement)
    named = [_named(dispute, by_dispute[dispute.id], book.sources) for dispute in book.disputes]
    return named + [_found(disagreement, book.sources) for disagreement in findings.unnamed]


def _named(
    dispute: Dispute, findings: Sequence[trnbench.Disagreement], known: dict[str, Source]
) -> Contradiction:
    """The dispute's own values; those the rules found besides are added once each."""
    if len(dispute.values) == len(dispute.sources):
        sides = [
            Side(value=value, source=cite(known, source))
            for value, source in zip(dispute.values, dispute.sources, strict=True)
        ]
    else:
        # The lists do not pair up: all values, then all documents, and no guess which said what.
        sides = [Side(value=value, source="") for value in dispute.values]
        sides += [Side(value="", source=cite(known, each)) for each in dispute.sources[len(sides) :]]
        if len(dispute.sources) <= len(dispute.values):
            sides.append(Side(value="", source=numbers.listed([cite(known, s) for s in dispute.sources])))
    rules = list(dict.fromkeys(finding.rule for finding in findings))
    ratios = [finding.ratio for finding in findings if finding.ratio]
    return Contradiction(
        id=dispute.id,
        topic=dispute.topic,
        about=", ".join(dispute.subjects),
        sides=tuple(sides),
        found=f"rule {numbers.listed(rules)}" if rules else "by reading: no rule can",
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


def render(runs: Sequence[Run]) -> Markup:
    parts = []
    for _, run, heading in view.each_run(runs):
        parts.append(
            {
                "heading": heading,
                "policy": run.policy,
                "known": view.sources(run),
                "peaks": [(name, list(group)) for name, group in groupby(_used(run), key=itemgetter(0))],
                "disputes": disagreements(run),
                "assumptions": [
                    (generation, assumption)
                    for generation, book in run.books.items()
                    for assumption in book.assumptions.values()
                ],
                "sources": _cited(run),
            }
        )
    return fill("documents", parts=parts, named=named, document=document, other=_other)


def _used(run: Run) -> Iterator[tuple[str, PeakChoice, Fact | None, int]]:
    """Each peak that cases of an instance were, or would have been, judged by, its fact, and how many."""
    facts = {fact.id: fact for book in run.books.values() for fact in book.facts}
    groups: dict[tuple[object, ...], list[tuple[PeakChoice, Measurement]]] = defaultdict(list)
    order = {record.instance: i for i, record in enumerate(view.systems(run))}
    for measurement in run.measurements:
        for choice in view.offered(measurement):
            peak = choice.chosen
            key = (
                order.get(measurement.case.instance, 99),
                measurement.case.instance,
                peak.metric,
                peak.scope.rank,
                peak.dtype,
                peak.sparse,
                peak.qualifier,
                str(peak.direction),
                peak.value,
            )
            groups[key].append((choice, measurement))
    for _, group in sorted(groups.items(), key=lambda item: item[0]):
        choice, case = group[0]
        fact = next((facts[name] for name in choice.chosen.facts if name in facts), None)
        yield case.case.instance, choice, fact, len(group)


def named(peak: Peak) -> str:
    """ "peak flops bf16 sparse": metric, type and whatever tells it from its neighbours."""
    marks = [peak.metric.replace("_", " "), peak.dtype, "sparse" if peak.sparse else "", peak.qualifier]
    if peak.direction is not Direction.NONE:
        marks.append("direction unstated" if peak.direction is Direction.UNSTATED else str(peak.direction))
    return " ".join(filter(None, marks))


def document(known: dict[str, Source], id: str) -> str:
    """A source as a reader looks it up: document, version, date."""
    source = known.get(id)
    if source is None:
        return id or "derived from the facts named"
    return ", ".join(filter(None, (source.document, source.version, source.date)))


def _other(known: dict[str, Source], peak: Peak) -> str:
    text = numbers.show(peak.value, numbers.unit_of(peak.metric))
    whence = document(known, peak.source) if peak.source else peak.formula
    marks = [
        f"policy {peak.policy}" if peak.policy else "",
        peak.evidence if peak.evidence != "documented" else "",
    ]
    if peak.superseded_by:
        marks.append(f"superseded by {document(known, peak.superseded_by)}")
    inner = ", ".join(filter(None, marks))
    return f"{text}: {whence or 'no source named'}{f' ({inner})' if inner else ''}"


def _cited(run: Run) -> list[tuple[Source, int]]:
    """Every document with how many facts stand on it; the seeds first. Addresses are text, not links."""
    counts = Counter(fact.source for book in run.books.values() for fact in book.facts)
    cited = [(source, counts[key]) for key, source in view.sources(run).items()]
    return sorted(cited, key=lambda each: (not each[0].seed, numbers.clean(each[0].document)))
