"""A published step of a model: what a source prints, and the step that it is read as."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from trnbench_steps.job import Job, Task
from trnbench_steps.layout import Layout


class Metric(StrEnum):
    """How a printed figure is the time of a step; by its unit."""

    PER_TOKEN = "ms/token"  # of one decoding step
    MILLISECONDS = "ms"  # of one step
    SECONDS = "s"  # of one step
    SEQUENCES = "seq/s"  # the step's batch in so many seconds
    RATE = "tok/s"  # of all sequences of a decoding step, one token each
    TOKENS = "tokens/s"  # of whole requests: no step
    SHARE = "%"  # of a peak: no step


class Reading(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision by which a printed row becomes a step, with the source that says so."""

    id: str
    says: str
    source: str = ""


class PublishedStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`hardware`, `instances`, `model_printed`, `types_printed`, `metric`, `unit`, `printed` and `stated` are
    the source's own: `stated` has batch, lengths and degrees by name, as far as they are stated.

    `model` (one that trnbench describes), `system`, `layout` and `job` are that row read as a step by
    `readings`; without `head` the step ends behind the last layer. A point without a job is none that can
    be composed, and `note` says why; elsewhere `note` says what the source leaves open.
    """

    id: str
    generation: str
    source: str
    locator: str
    hardware: str
    instances: int
    model_printed: str
    types_printed: str
    metric: str
    unit: Metric
    printed: str
    task: Task
    stated: dict[str, int] = {}
    note: str = ""
    model: str = ""
    system: str = ""
    head: bool = True
    layout: Layout = Layout()
    job: Job | None = None
    readings: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether it can be composed as stated."""
        return self.job is not None

    @property
    def time_s(self) -> float:
        """Seconds of the step. Raises `ValueError` for a point that is none."""
        if self.job is None:
            raise ValueError(f"{self.id} is no step: {self.note}")
        value = float(self.printed)
        if self.unit in (Metric.SEQUENCES, Metric.RATE):
            return self.job.batch / value
        return value if self.unit is Metric.SECONDS else value * 1e-3


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """Points that no rule after `version` of the model was chosen by, each with its error then.

    ln(model / published), with constants that were fitted without its model.
    """

    version: str
    errors: dict[str, float]


class PublishedSteps(msgspec.Struct, frozen=True, kw_only=True):
    """The points of one file, by id the readings that they name, and the list of those kept apart."""

    points: tuple[PublishedStep, ...]
    readings: dict[str, Reading]
    frozen: Frozen | None = None
