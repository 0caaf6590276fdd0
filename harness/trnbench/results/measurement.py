"""One case's outcome: time, metrics, evidence, status and the judgement."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeAlias

import msgspec

from trnbench.brief import brief
from trnbench.facts.format import percent, show
from trnbench.facts.peak import PeakChoice
from trnbench.facts.scope import Direction, Scope
from trnbench.results.evidence import Evidence
from trnbench.results.process_samples import ProcessSamples
from trnbench.results.stability import Stability
from trnbench.results.statistics import Interval

Value: TypeAlias = int | float | str | bool
"""What an axis can hold."""


class Status(str, Enum):
    OK = "ok"
    DOCUMENT_LOW = "document-low"  # above a documented figure that is itself below the engine bound
    INCONCLUSIVE = "inconclusive"  # measured, but not stable enough to judge
    SUSPECT = "suspect"  # above what the clocks allow, or evidence is missing
    FAILED = "failed"
    SKIPPED = "skipped"

    def __str__(self) -> str:
        return self.value


class Reason(str, Enum):
    """Why a case failed. The sentence for people is in `Measurement.reason_text`."""

    NONE = ""
    CRASH = "crash"
    OUT_OF_MEMORY = "out of memory"
    TIMEOUT = "timeout"
    WRONG_RESULT = "wrong result"
    NO_EVIDENCE = "no evidence"
    ERROR = "error"

    def __str__(self) -> str:
        return self.value


class CaseKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was asked for. `fullname` is the same on every generation and evidence grade."""

    kernel: str
    family: str
    instance: str
    generation: str
    scope: Scope
    point: dict[str, Value]  # axis → value, in the kernel's axis order
    tags: tuple[str, ...] = ()

    @property
    def fullname(self) -> str:
        """`gemm[dtype=bf16,size=4096]@core`: the case without the machine."""
        inner = ",".join([f"{name}={value}" for name, value in self.point.items()])
        return f"{self.kernel}{f'[{inner}]' if inner else ''}@{self.scope.value}"

    @property
    def id(self) -> str:
        """`trn2-16.48xlarge::gemm[dtype=bf16,size=4096]@core`."""
        return self.on_instance(self.fullname)

    def on_instance(self, fullname: str) -> str:
        """`id`, for who has asked for the name already."""
        return f"{self.instance}::{fullname}"

    @property
    def dtype(self) -> str:
        return str(self.point.get("dtype", ""))


class Metric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number with all that is needed to compare it: never a bare float."""

    name: str  # "flops_per_s", "hbm_bytes_per_s", "busbw_bytes_per_s", "algbw_bytes_per_s", "latency_s", …
    value: float
    unit: str  # SI base unit: "FLOP/s", "B/s", "s", "B", "1"
    better: str  # "higher" or "lower"
    scope: Scope
    direction: Direction = Direction.NONE
    formula: str = ""  # how it follows from the time: "2·M·N·K / time"


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A share of the time a model predicts: what it is and how long it would take alone."""

    name: str  # "tensor", "hbm", "dma", "launch", "link", "latency", …
    seconds: float


class Judgement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result set against its peak, of the same metric, dtype, scope and direction."""

    metric: str  # the Metric.name that was judged
    fraction: float  # of `peaks.chosen`, 1.0 = the peak
    peaks: PeakChoice
    of_engine_bound: float | None = None
    causes: tuple[str, ...] = ()  # ranked, for suspect and document-low
    comment: str = ""


class Measurement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
