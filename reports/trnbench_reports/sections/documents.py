"""Section 8: where each peak comes from, what disagrees, and what no document says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from trnbench import Direction, Fact, Measurement, Peak, PeakChoice, Run, Source
from trnbench_reports import numbers, view, words
from trnbench_reports.sections.disagreements import disagreements
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True, kw_only=True)
class Used:
    """A peak that cases were, or would have been, judged by."""

    instance: str
    what: str
    scope: str
    value: str
    exact: str
    evidence: str
    basis: str  # formula or "as printed"
    source: str
    locator: str
    policy: str
    note: str
    others: tuple[str, ...]
    bound: str
    cases: int


def render(runs: Sequence[Run]) -> Markup:
    parts = []
    for _, run, heading in view.each_run(runs):
        known = view.sources(run)
        facts = {fact.id: fact for book in run.books.values() for fact in book.facts}
        parts.append(
            {
                "heading": heading,
                "policy": run.policy,
                "peaks": [
                    (name, list(group))
                    for name, group in groupby(_used(run, known, facts), key=lambda used: used.instance)
                ],
                "disputes": disagreements(run),
                "assumptions": list(_assumptions(run)),
                "sources": _cited(run),
            }
        )
    return fill("documents", parts=parts)


def _used(run: Run, known: dict[str, Source], facts: dict[str, Fact]) -> Iterator[Used]:
    groups: dict[tuple[object, ...], list[tuple[PeakChoice, Measurement]]] = defaultdict(list)
    order = {record.instance: i for i, record in enumerate(view.systems(run))}
    for measurement in run.measurements:
        offered = (
            (measurement.judgement.peaks, *measurement.reference_peaks)
            if measurement.judgement
            else measurement.reference_peaks
        )
        for choice in offered:
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
        peak, bound = choice.chosen, choice.engine_bound
        unit = numbers.unit_of(peak.metric)
        fact = next((facts[name] for name in peak.facts if name in facts), None)
        yield Used(
            instance=case.case.instance,
            what=named(peak),
            scope=str(peak.scope),
            value=numbers.show(peak.value, unit),
            exact=f"{numbers.exact(peak.value)} {unit}",
            evidence=peak.evidence,
            basis=peak.formula or (f"printed {fact.printed} {fact.printed_unit}" if fact else "as printed"),
            source=document(known.get(peak.source), peak.source),
            locator=fact.locator if fact else "",
            policy=str(choice.policy),
            note=choice.note,
            others=tuple(_other(other, known) for other in choice.alternatives),
            bound=numbers.show(bound.value, unit) if bound else "no clock bounds it",
            cases=len(group),
        )


def named(peak: Peak) -> str:
    """ "peak flops bf16 sparse": metric, type and whatever tells it from its neighbours."""
    marks = [peak.metric.replace("_", " "), peak.dtype, "sparse" if peak.sparse else "", peak.qualifier]
    if peak.direction is not Direction.NONE:
        marks.append("direction unstated" if peak.direction is Direction.UNSTATED else str(peak.direction))
    return " ".join(filter(None, marks))


def document(source: Source | None, id: str = "") -> str:
    """A source as a reader looks it up: document, version, date."""
    if source is None:
        return id or "derived from the facts named"
    return ", ".join(filter(None, (source.document, source.version, source.date)))


def _other(peak: Peak, known: dict[str, Source]) -> str:
    text = numbers.show(peak.value, numbers.unit_of(peak.metric))
    whence = document(known.get(peak.source), peak.source) if peak.source else peak.formula
    marks = [
        f"policy {peak.policy}" if peak.policy else "",
        peak.evidence if peak.evidence != "documented" else "",
    ]
    if peak.superseded_by:
        marks.append(f"superseded by {document(known.get(peak.superseded_by), peak.superseded_by)}")
    inner = ", ".join(filter(None, marks))
    return f"{text}: {whence or 'no source named'}{f' ({inner})' if inner else ''}"


def _assumptions(run: Run) -> Iterator[dict[str, Any]]:
    for generation, book in run.books.items():
        for assumption in book.assumptions.values():
            unit = numbers.unit_of(assumption.metric)
            yield {
                "generation": generation,
                "id": assumption.id,
                "subject": assumption.subject,
                "metric": assumption.metric.replace("_", " "),
                "value": numbers.show(assumption.value, unit),
                "exact": f"{assumption.printed} {assumption.printed_unit}",
                "range": f"{numbers.show(assumption.low, unit)} to {numbers.show(assumption.high, unit)}",
                "reason": assumption.reason,
            }


def _cited(run: Run) -> list[dict[str, Any]]:
    """Every document with how many facts stand on it; the seeds first. Addresses are text, not links."""
    counts: dict[str, int] = defaultdict(int)
    for book in run.books.values():
        for fact in book.facts:
            counts[fact.source] += 1
    cited = [
        {
            "id": key,
            "document": s.document,
            "version": s.version,
            "date": s.date,
            "path": s.path,
            "seed": s.seed,
            "note": s.note,
            "facts": counts[key],
        }
        for key, s in view.sources(run).items()
    ]
    return sorted(cited, key=lambda each: (not each["seed"], words.clean(each["document"])))
