"""The outcome of one case: time, metrics, evidence, processes, status, judgement and waterfall."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from trnbench.bounded.kinds import is_number
from trnbench.case_key import CaseKey
from trnbench.errors import brief
from trnbench.facts.fact import Direction, PeakChoice, Scope
from trnbench.facts.units import percent, show
from trnbench.record import Record
from trnbench.results.statistics import Interval


class Nearness(StrEnum):
    """Nearest first. The last two have no band: such a number is grey, never first, never an interval."""

    SAME = "same"  # this kernel, this generation, size within a factor of 2 in each axis
    KERNEL = "kernel"  # this kernel, this generation, another size
    OPERATION = "operation"  # another kernel of the same operation and data type on this generation
    FAMILY = "family"  # the same family on this generation
    ELSEWHERE = "elsewhere"  # the same kernel or family on another generation only
    NONE = "none"  # nothing is published

    @property
    def banded(self) -> bool:
        return self not in (Nearness.ELSEWHERE, Nearness.NONE)


class Band(Record, kw_only=True, forbid_unknown_fields=True):
    """Ends of e = ln(model time / published time): one more vote of the class lies beyond each with a
    probability of 10 % at most.

    `votes` kernels with `points` points stand behind it; `widened`: towards what it was widened, a class
    since too few do or the ranges of its assumptions, "" for neither.
    """

    low: float
    high: float
    votes: int
    points: int
    widened: str = ""

    def times(self, time_s: float, least_s: float = 0.0) -> tuple[float, float]:
        """What a modelled time lets one expect of the machine, in seconds: least and most.

        No less than `least_s`, which clocks and rates allow, unless the modelled time is less.
        """
        least = max(time_s * math.exp(-self.high), min(least_s, time_s))
        return least, max(time_s * math.exp(-self.low), least)


class BestPublished(Record, kw_only=True, forbid_unknown_fields=True):
    """The best that others measured of the same metric, of the nearest class that has such a point.

    `at`: its size and ranks in words, "" where each is within a factor of 2 of those asked for. `reaches`:
    whether its size lets it bound the number; a rate of a small size bounds none of a large one.
    """

    id: str
    metric: str  # as `Metric.name`
    value: float  # in the base unit of the metric
    unit: str
    source: str
    kind: Nearness  # how near that point is
    at: str = ""
    reaches: bool = True


class Limit(Record, kw_only=True, forbid_unknown_fields=True):
    """A published inequality: what was measured leaves at most `time_s` seconds."""

    id: str
    time_s: float


class Nearest(Record, kw_only=True, forbid_unknown_fields=True):
    """`points` are ids of the nearest published points, nearest first, at most three. `note` says why there
    is no band, or that it is of the shipped model; `limit` the tightest inequality that bounds the time of a
    collective in a graph. Emulated evidence without a `Nearest` was stored before
    nearness was recorded.
    """

    kind: Nearness
    points: tuple[str, ...] = ()
    band: Band | None = None
    best: BestPublished | None = None
    note: str = ""
    limit: Limit | None = None


class Stability(Record, kw_only=True, forbid_unknown_fields=True):
    """Whether the samples tell one time, and what to do when they do not."""

    verdict: str  # "stable", "noisy" or "unstable"
    why: str = ""
    advice: str = ""


class Conditions(Record, kw_only=True, forbid_unknown_fields=True):
    """From the warm-up to the last sample; None where the system does not tell.

    Shares are of the time that passed: 1.0 is all of it. `clock_hz` is what the processor reported before and
    after.
    """

    wall_s: float
    cpu_s: float | None = None  # processor time of the process, all its threads
    queued_s: float | None = None  # in which its threads could have run and had no processor, all of them
    preempted: int | None = None  # involuntary context switches
    waited: int | None = None  # voluntary ones
    others: float | None = (
        None  # share of the processors that other processes had: its own or all, the larger
    )
    stolen: float | None = None  # share of processor time that went to other virtual machines
    pressure: float | None = None  # share of the time in which something waited for a processor (PSI)
    clock_hz: tuple[float, ...] = ()


class ProcessSamples(Record, kw_only=True, forbid_unknown_fields=True):
    """Seconds per repetition, in the order taken, and the median that this process would have told.

    Beside each sample `cpu_s` is the processor time of the process per repetition, all its threads, and
    `preempted` how often it lost its processor; both empty where they are not known. What the system tells in
    ticks of 10 ms (steal, pressure, what others used) and its clock is in `conditions`, of all samples
    together.

    `doubts` speak against the number whatever the machine did meanwhile, `doubts_of_time` only where the
    times can be relied on.
    """

    samples: tuple[float, ...]
    time_s: float
    cpu_s: tuple[float, ...] = ()
    preempted: tuple[int, ...] = ()
    conditions: Conditions | None = None
    doubts: tuple[str, ...] = ()
    doubts_of_time: tuple[str, ...] = ()


class Grade(StrEnum):
    MEASURED = "measured"  # on the device named
    EMULATED = "emulated"  # by the model and version named
    DOCUMENTED = "documented"  # printed in the source named
    PUBLISHED = "published"  # measured by others, source named
    DERIVED = "derived"  # by the formula named

    @property
    def letter(self) -> str:
        """One letter for dense tables: M, E, D, P, F (formula)."""
        return {"measured": "M", "emulated": "E", "documented": "D", "published": "P"}.get(self.value, "F")


class Evidence(Record, kw_only=True, forbid_unknown_fields=True):
    grade: Grade
    by: str  # device name, model name, source id or formula
    version: str = ""  # of the model or the software stack
    note: str = ""
    nearest: Nearest | None = None  # of an emulated number: the nearest published evidence and its band


class Status(StrEnum):
    OK = "ok"
    DOCUMENT_LOW = "document-low"  # above a documented figure that is itself below the engine bound
    INCONCLUSIVE = "inconclusive"  # measured, but not stable enough to judge
    SUSPECT = "suspect"  # above what the clocks allow, or evidence is missing
    FAILED = "failed"
    SKIPPED = "skipped"


def status_words(counts: Mapping[Status, int] | Mapping[str, int]) -> str:
    """`54 ok, 18 skipped`: those that there are."""
    return ", ".join(f"{count:,} {status}" for status, count in counts.items() if count)


class Reason(StrEnum):
    """Why a case failed. The sentence for people is in `Measurement.reason_text`."""

    NONE = ""
    CRASH = "crash"
    OUT_OF_MEMORY = "out of memory"
    TIMEOUT = "timeout"
    WRONG_RESULT = "wrong result"
    NO_EVIDENCE = "no evidence"
    ERROR = "error"


class Metric(Record, kw_only=True, forbid_unknown_fields=True):
    """A number with all that is needed to compare it: never a bare float."""

    name: str  # "flops_per_s", "hbm_bytes_per_s", "busbw_bytes_per_s", "algbw_bytes_per_s", "latency_s", …
    value: float
    unit: str  # SI base unit: "FLOP/s", "B/s", "s", "B", "1"
    better: str  # "higher" or "lower"
    scope: Scope
    direction: Direction = Direction.NONE
    formula: str = ""  # how it follows from the time: "2·M·N·K / time"


class Part(Record, kw_only=True, forbid_unknown_fields=True):
    """A share of the time a model predicts: what it is and how long it would take alone."""

    name: str  # "tensor", "hbm", "dma", "launch", "link", "latency", …
    seconds: float


class Judgement(Record, kw_only=True, forbid_unknown_fields=True):
    """The result set against its peak, of the same metric, dtype, scope and direction."""

    metric: str  # the Metric.name that was judged
    fraction: float  # of `peaks.chosen`, 1.0 = the peak
    peaks: PeakChoice
    of_engine_bound: float | None = None
    causes: tuple[str, ...] = ()  # ranked, for suspect and document-low
    comment: str = ""


class Measurement(Record, kw_only=True, forbid_unknown_fields=True):
    """The outcome of one case on one backend."""

    case: CaseKey
    evidence: Evidence
    status: Status
    reason: Reason = Reason.NONE
    reason_text: str = ""  # for failed, suspect and skipped: what, why, what to do
    time_s: float | None = None  # median of the samples, or the modelled time
    clock: str = ""  # "model", "device" or "host"
    samples: tuple[float, ...] = ()  # seconds, raw
    processes: tuple[ProcessSamples, ...] = ()  # of measured cases: what each process saw
    interval: Interval | None = None  # of `time_s` in seconds, between processes
    stability: Stability | None = None
    stop_reason: str = ""  # why sampling ended; for models "deterministic model"
    metrics: dict[str, Metric] = {}
    primary: str = ""  # the metric that is judged and shown first
    work: dict[str, float] = {}  # "flops", "hbm_bytes", "link_bytes", … what was asked for
    parts: tuple[Part, ...] = ()
    bound: str = ""  # Part.name of the limiting part
    implementation: str = ""  # "nki: trnbench_kernels.nki.gemm:gemm_blocked", "collective: ring", …
    judgement: Judgement | None = None
    reference_peaks: tuple[PeakChoice, ...] = ()  # peaks of a skipped case, still shown
    counters: dict[str, float] = {}
    notes: tuple[str, ...] = ()
    detail: dict[str, Any] = {}  # backend-specific, JSON-safe: per-link load, waterfall, utilisation

    @property
    def id(self) -> str:
        return self.case.id

    def __repr__(self) -> str:
        metric = self.metrics.get(self.primary)
        shown = f", {show(metric.value, metric.unit)}" if metric and metric.value - metric.value == 0 else ""
        share = f", {percent(self.judgement.fraction)} of its peak" if self.judgement else ""
        return brief(self, f"{self.id}: {self.status}{shown}{share}, {self.evidence.grade}")


AT_PEAK = " at its peak"
"""Ends the name of a model's first term: the time at the model's own limit of an engine or a memory."""

IN_MODEL = " in the model"
"""Ends the name of the term between the model's own limit and the peak."""

JUDGED = "the peak it is judged by"

_TOLERANCE = 1e-6


def waterfall_from_peak(
    terms: Sequence[tuple[str, float]], peak_s: float, *, name: str = JUDGED
) -> tuple[tuple[str, float], ...]:
    """`terms` (name, seconds) begin at the model's limit; the result begins at `peak_s`, which is `name`.

    The model's limit is not what a document prints: the step between the two is a term of its own, negative
    where the document promises less than the clock allows. The sum stays. Without a peak nothing changes.
    """
    if not terms or not 0 < peak_s < math.inf:
        return tuple(terms)
    (limit, seconds), *rest = terms
    step = seconds - peak_s
    if abs(step) <= _TOLERANCE * math.fsum(each for _, each in terms):
        return ((name, seconds), *rest)
    return ((name, peak_s), (f"limit of {limit.removesuffix(AT_PEAK)}{IN_MODEL}", step), *rest)


def stored_waterfall(case: Measurement) -> tuple[tuple[str, float], ...]:
    """The terms (name, seconds) that a backend left in `detail`, of a core ("waterfall") or of links
    ("waterfall_s"); nothing where they do not add up to the time. Runs may come from anywhere."""
    total = case.time_s
    if total is None or not 0 < total < math.inf:
        return ()
    waterfall = case.detail.get("waterfall")
    if waterfall is None and isinstance(case.detail.get("waterfall_s"), Mapping):
        waterfall = [[name, seconds] for name, seconds in case.detail["waterfall_s"].items()]
    if not isinstance(waterfall, list | tuple) or len(waterfall) < 2:
        return ()
    terms = []
    for item in waterfall:
        if not isinstance(item, list | tuple) or len(item) != 2:
            return ()
        seconds = item[1]
        if not is_number(seconds) or not math.isfinite(seconds):
            return ()
        terms.append((str(item[0]), float(seconds)))
    if abs(math.fsum(seconds for _, seconds in terms) - total) > _TOLERANCE * total:
        return ()
    return tuple(terms)


def stored_bound(case: Measurement) -> float:
    """Seconds that a backend left in `detail` as "bound_s": what clocks, documented rates and links allow at
    the least for all that it counted. 0 where there are none."""
    bound = case.detail.get("bound_s")
    return float(bound) if is_number(bound) and 0.0 < bound < math.inf else 0.0


GOOD = (Status.OK, Status.DOCUMENT_LOW)
BAD = (Status.FAILED, Status.SUSPECT)
ALARMING = (*BAD, Status.INCONCLUSIVE)


class Verdict(StrEnum):
    """In the order in which people are told."""

    BROKEN = "broken"  # it failed or is suspect, and was neither before
    LOST = "lost"  # it ran before, and is skipped or not there
    SLOWER = "slower"
    EVIDENCE = "evidence changed"  # other grade, or another model gave another number
    MENDED = "mended"  # it failed or was suspect, and passes
    FASTER = "faster"
    NEW = "new"  # it runs, and was skipped or not there before
    UNKNOWN = "cannot be told"
    SAME = "no difference shown"

    @property
    def changed(self) -> bool:
        """Whether something is known to have changed."""
        return self not in (Verdict.UNKNOWN, Verdict.SAME)


class Standing(NamedTuple):
    """A case in one run, without its number."""

    status: Status
    grade: Grade


def verdict_of(before: Standing | None, after: Standing | None, moved: Verdict = Verdict.SAME) -> Verdict:
    """The name of what became of a case; None where the run does not have it.

    `moved` is what its numbers alone say; it counts where both runs have one to rely on.
    """
    ran = [each is not None and each.status is not Status.SKIPPED for each in (before, after)]
    if before is None or after is None or not all(ran):
        return Verdict.SAME if ran[0] is ran[1] else Verdict.NEW if ran[1] else Verdict.LOST
    if after.status in BAD:
        return Verdict.UNKNOWN if before.status in BAD else Verdict.BROKEN
    if before.status in BAD and after.status not in GOOD:
        return Verdict.UNKNOWN
    if before.grade is not after.grade:
        return Verdict.EVIDENCE
    if before.status in BAD:
        return Verdict.MENDED
    return moved if after.status in GOOD and before.status in GOOD else Verdict.UNKNOWN
