"""The documents of a line: the figure it is held against, and the one that has replaced it since."""

from __future__ import annotations

import math

import msgspec

from trnbench.facts.book import FactBook
from trnbench.facts.fact import Fact
from trnbench.facts.peak import Peak, PeakPolicy
from trnbench.results.measurement import Measurement
from trnbench.results.run import Run
from trnbench.run.headline.line import Promised

UNSTATED = "one direction or both is not stated"


def promised(run: Run, case: Measurement) -> Promised | None:
    """None where no document has a figure, or only one that no share can be taken of."""
    judgement = case.judgement
    if judgement is None or not math.isfinite(judgement.fraction):
        return None
    return _promised(run, case, judgement.peaks.chosen, judgement.fraction)


def superseding(run: Run, case: Measurement) -> Promised | None:
    """What replaced the figure of `promised`, at the same scope; None where nothing has.

    What the superseding document prints of the same subject is taken; without that, the newest figure.
    """
    judgement = case.judgement
    if judgement is None or not judgement.peaks.chosen.superseded_by:
        return None
    chosen = judgement.peaks.chosen
    book = run.books.get(case.case.generation, FactBook())
    old = next((fact for fact in book.facts if fact.id in chosen.facts), None)
    new = _replacing(book, old, chosen.superseded_by, chosen.dtype) if old is not None else None
    if old is not None and old.value and new is not None and new.value:
        ratio = new.value / old.value
        peak = _as_printed(chosen, chosen.value * ratio, new)
        return _promised(run, case, peak, judgement.fraction / ratio)
    latest = next((each for each in judgement.peaks.alternatives if each.policy is PeakPolicy.LATEST), None)
    if latest is None or not latest.value > 0:
        return None
    return _promised(run, case, latest, judgement.fraction * chosen.value / latest.value)


def others(run: Run, case: Measurement) -> tuple[Promised, ...]:
    """Every other figure of the same scope that a document prints or implies, each value once, least first.

    What the clocks allow is no document's figure and is left out.
    """
    judgement = case.judgement
    if judgement is None or not math.isfinite(judgement.fraction):
        return ()
    chosen = judgement.peaks.chosen
    by_value: dict[float, Promised] = {}
    for peak in judgement.peaks.alternatives:
        if peak.policy is PeakPolicy.ENGINE or not peak.value > 0 or peak.value == chosen.value:
            continue
        made = _promised(run, case, peak, judgement.fraction * chosen.value / peak.value)
        if made is not None:
            by_value.setdefault(round(peak.value, 3), made)
    return tuple(by_value[value] for value in sorted(by_value))


def _replacing(book: FactBook, old: Fact, source: str, dtype: str) -> Fact | None:
    """The figure of the same subject, metric, scope and kind that `source` prints."""
    newer = book.select(
        old.subject,
        old.metric,
        dtype=dtype or None,
        sparse=old.sparse,
        scope=old.scope,
        qualifier=old.qualifier,
        source=source,
    )
    return next((fact for fact in newer if fact.direction is old.direction and not fact.part), None)


def _as_printed(chosen: Peak, value: float, fact: Fact) -> Peak:
    return msgspec.structs.replace(
        chosen, value=value, source=fact.source, superseded_by=fact.superseded_by, facts=(fact.id,)
    )


def _promised(run: Run, case: Measurement, peak: Peak, fraction: float) -> Promised | None:
    if not (peak.value > 0 and math.isfinite(peak.value) and math.isfinite(fraction)):
        return None
    source = run.books.get(case.case.generation, FactBook()).sources.get(peak.source)
    unstated = str(peak.direction) == "unstated"
    return Promised(
        value=peak.value,
        fraction=fraction,
        document=source.document if source else "",
        source=peak.source,
        date=(source.date or source.version) if source else "",
        printed=peak.evidence == "documented",
        note=UNSTATED if unstated else "",
        superseded_by=peak.superseded_by,
    )
