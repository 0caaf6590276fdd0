"""A line of the headline as values, with the documents that promise its figure and where to look it up."""

from __future__ import annotations

import math

from msgspec.structs import replace

from trnbench.case_key import Division
from trnbench.facts.fact import Fact, FactBook, Peak, PeakPolicy, Scope
from trnbench.record import Record
from trnbench.results.fidelity import OwnProduct
from trnbench.results.measurement import BestPublished, Grade, Judgement, Measurement
from trnbench.results.run import Run
from trnbench.run.guard import TOLERANCE

CALLED = {
    "gemm": "product",
    "hbm_copy": "copy within device memory",
    "all_reduce": "all-reduce",
    "decode_step": "decode step",
}
"""Kernels of the headline's own questions, in words."""


class Sweep(Record, kw_only=True):
    """The judged metric over the cases of a line, in its base unit; `best` need not be the largest.

    `over` and `at` name the axes that vary: all their values, and those of the best. `case` is its id.
    """

    metric: str
    unit: str
    better: str
    points: int
    worst: float
    best: float
    over: str
    at: str
    case: str


class Promised(Record, kw_only=True):
    """A figure of a document at the scope of the line, and the share of it that the best case reaches.

    `date` of the document, its version where it has none. `printed`: the document prints the figure for this
    very scope; otherwise it is worked out from what it prints. `figure`: what the document prints, with its
    own unit and what it is of: `46.4 TB/sec per instance`.
    """

    value: float
    fraction: float
    document: str
    source: str
    date: str = ""
    printed: bool = True
    figure: str = ""
    note: str = ""
    superseded_by: str = ""


class PerCore(Record, kw_only=True):
    """The best published of one core, or of a core pair; `fraction` of what is promised of that `scope`, by
    the same document."""

    published: BestPublished
    fraction: float
    case: str
    scope: Scope = Scope.CORE

    @property
    def where(self) -> str:
        """Of which part of the device it is."""
        return "on one core" if self.scope is Scope.CORE else "on a core pair"


class Cause(Record, kw_only=True):
    """What takes time beside the work at the peak; `share` of the time of the best case."""

    name: str
    share: float


class Step(Record, kw_only=True):
    """A step of a model as its users count it; `expected_s` the shortest before the longest, None without a
    band. `at`: where it stands on the axes that vary, with their names."""

    time_s: float
    tokens_per_s: float
    expected_s: tuple[float, float] | None = None
    at: str = ""


class Line(Record, kw_only=True):
    """One kernel on the systems of one generation that gave the same numbers.

    - `whole`: no system of the generation that was asked gave other numbers.
    - `ranks`: of a collective, how many ranks of what kind; `counts`: what its bandwidth counts.
    - `of` and `since`: the figure it is held against, and the one that has superseded that.
    - `others`: what other documents print or imply for the same figure, superseded ones too.
    - `clock`: the share of what the clocks allow, of the best case; `clock_value` is that bound.
    - `expected`: what the band of the nearest published evidence leaves of the best value, low before high,
      in the unit of the sweep; `votes` stand behind it, `widened` and `band_note` as in `Band` and `Nearest`.
    - `published`: the best of the nearest class that has one; `above` says where the model is far above it.
    - `of_core`: where nobody published the scope, the best published of one core, or of a core pair, beside
      the promise of that.
    - `bound` and `rest`: what the best case waits for most, as its model names it, and what takes its time.
    - `own`: our product at the shapes that others published, where the line is about a product;
      `own_outdated` says why there is none, where what is shipped of it does not hold, and what to type.
    - `step`: of a case that makes tokens, where no question of the headline asks for it.
    - `muted`: nothing published stands near enough for an interval, and `reason` says why. Such a line comes
      last and is never bold.
    """

    question: str
    generation: str
    systems: tuple[str, ...]
    scope: Scope
    kernel: str
    dtype: str
    grade: Grade
    sweep: Sweep
    division: Division | None = None
    whole: bool = True
    ranks: str = ""
    counts: str = ""
    of: Promised | None = None
    since: Promised | None = None
    others: tuple[Promised, ...] = ()
    clock: float | None = None
    clock_value: float | None = None
    nearness: str = ""
    expected: tuple[float, float] | None = None
    votes: int = 0
    widened: str = ""
    band_note: str = ""
    published: BestPublished | None = None
    above: str = ""
    of_core: PerCore | None = None
    bound: str = ""
    rest: tuple[Cause, ...] = ()
    own: tuple[OwnProduct, ...] = ()
    own_outdated: str = ""
    step: Step | None = None
    muted: bool = False
    reason: str = ""

    @property
    def called(self) -> str:
        """`bf16 product`: the type and what the kernel does, in words."""
        return " ".join(filter(None, (self.dtype, CALLED.get(self.kernel, self.kernel))))

    @property
    def beyond(self) -> str:
        """What it means to be above the promise; "" of what is not."""
        if self.of is None or self.of.fraction <= 1.0 + TOLERANCE:
            return ""
        return "no clock bounds it" if self.clock is None else "the document's figure is low"


UNSTATED = "one direction or both is not stated"


def promised(run: Run, case: Measurement) -> Promised | None:
    """None where no document has a figure, or only one that no share can be taken of."""
    judgement = case.judgement
    if judgement is None:
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
        peak = _as_printed(chosen, chosen.value * (new.value / old.value), new)
        return _promised(run, case, peak, _fraction(case, judgement, peak))
    latest = next(
        (
            alternative
            for alternative in judgement.peaks.alternatives
            if alternative.policy is PeakPolicy.LATEST
        ),
        None,
    )
    if latest is None or not latest.value > 0:
        return None
    return _promised(run, case, latest, _fraction(case, judgement, latest))


def others(run: Run, case: Measurement) -> tuple[Promised, ...]:
    """Every other figure of the same scope that a document prints or implies, each value once, least first.

    What the clocks allow is no document's figure and is left out.
    """
    judgement = case.judgement
    if judgement is None:
        return ()
    chosen = judgement.peaks.chosen
    by_value: dict[float, Promised] = {}
    for peak in judgement.peaks.alternatives:
        if peak.policy is PeakPolicy.ENGINE or not peak.value > 0 or peak.value == chosen.value:
            continue
        made = _promised(run, case, peak, _fraction(case, judgement, peak))
        if made is not None:
            by_value.setdefault(round(peak.value, 3), made)
    return tuple(by_value[value] for value in sorted(by_value))


def _fraction(case: Measurement, judgement: Judgement, peak: Peak) -> float:
    """The share of `peak` in the place of the chosen one's; of a time a longer peak is easier to reach."""
    ratio = judgement.peaks.chosen.value / peak.value
    metric = case.metrics.get(judgement.metric)
    lower = metric is not None and metric.better == "lower"
    return judgement.fraction / ratio if lower else judgement.fraction * ratio


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
    return replace(
        chosen, value=value, source=fact.source, superseded_by=fact.superseded_by, facts=(fact.id,)
    )


def _promised(run: Run, case: Measurement, peak: Peak, fraction: float) -> Promised | None:
    if not (0 < peak.value < math.inf and math.isfinite(fraction)):
        return None
    book = run.books.get(case.case.generation, FactBook())
    source = book.sources.get(peak.source)
    unstated = str(peak.direction) == "unstated"
    subjects = {name.partition("/")[0] for name in peak.facts}
    facts = [fact for fact in book.facts if fact.subject in subjects and fact.id in peak.facts]
    return Promised(
        value=peak.value,
        fraction=fraction,
        document=source.document if source else "",
        source=peak.source,
        date=(source.date or source.version) if source else "",
        printed=peak.evidence == "documented",
        figure=" + ".join(map(_as_documented, facts)),
        note=UNSTATED if unstated else "",
        superseded_by=peak.superseded_by,
    )


def _as_documented(fact: Fact) -> str:
    """`46.4 TB/sec per instance`, `1,024 GB/sec/device`: a unit that names what it is of needs no more."""
    text = f"{fact.printed} {fact.printed_unit}".strip()
    return text if text.count("/") > 1 else f"{text} per {str(fact.scope).replace('-', ' ')}"
