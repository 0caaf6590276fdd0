"""One layout on one system: what a step takes there, what limits it, what it costs; or why it is refused."""

from __future__ import annotations

from enum import Enum

import msgspec

from trnbench.results.nearness import Nearest
from trnbench_steps.layout import Layout
from trnbench_steps.plan.price import Price
from trnbench_steps.step_parts import StepParts


class Why(str, Enum):
    """Kinds of reasons, in the order in which they are looked for."""

    DIVIDES = "divides wrongly"
    FITS = "does not fit"
    SLOW = "too slow"
    TIMED = "cannot be timed"

    def __str__(self) -> str:
        return self.value


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """`batches` that the same reason refuses on this layout."""

    system: str
    layout: str
    batches: tuple[int, ...]
    why: Why
    reason: str


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """A feasible one. `time_s` is a step's, `low_s` and `high_s` what its band lets one expect (0: no band).

    `tokens_per_s` of the whole system; `limit` is the largest part of the step and its share; `of_documents`
    is the least time that documents allow over the step's. `first_s`: the time to a first token, 0 where none
    was asked for. `days`, `dollars`: of a training run; of decoding a million tokens.
    """

    system: str
    layout: Layout
    batch: int
    devices: int
    time_s: float
    low_s: float
    high_s: float
    tokens_per_s: float
    limit: str
    limit_share: float
    of_documents: float
    used: float  # of the fullest device's HBM
    nearest: Nearest
    parts: StepParts
    first_s: float = 0.0
    days: float = 0.0
    dollars: float | None = None
    price: Price | None = None
    notes: tuple[str, ...] = ()

    @property
    def banded(self) -> bool:
        return self.nearest.band is not None

    @property
    def tokens_per_s_device(self) -> float:
        return self.tokens_per_s / self.devices
