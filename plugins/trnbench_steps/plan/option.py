"""One layout on one system: what a step takes there, what limits and decides it; or why it is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

import msgspec

from trnbench.results.nearness import Nearest
from trnbench_steps.layout import Layout
from trnbench_steps.plan.price import Price
from trnbench_steps.step_constants import UNITS, Constant, StepConstants
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


class Sensitivity(msgspec.Struct, frozen=True, kw_only=True):
    """`name` moves the first option's step most: from `low_s` to `high_s` between the constant's ends, `low`
    and `high` in `unit`. `turns`: at one of these ends another option of the same generation is faster."""

    name: str
    low: float
    high: float
    unit: str
    low_s: float
    high_s: float
    turns: str = ""


def sensitivity(
    first: Option, others: Sequence[Option], named: Mapping[str, Constant], label: Mapping[int, str]
) -> Sensitivity | None:
    """The constant without a document that moves the first option most.

    Of the constants `named` of the first option's generation; `others` are compared by their time for one
    token and device. `label` has words for each option by its identity. None where nothing is named."""
    now = {name: each.value * UNITS[name][1] for name, each in named.items()}
    candidates: list[Sensitivity] = []
    for name, constant in named.items():
        ends = [StepConstants(**{**now, name: end * UNITS[name][1]}) for end in (constant.low, constant.high)]
        low_s, high_s = (first.parts.time(constants).time_s for constants in ends)
        turned = ""
        for constants in ends:
            mine = _cost(first, constants)
            better = [other for other in others if _cost(other, constants) < mine]
            if better:
                turned = label.get(id(better[0]), "")
        candidates.append(
            Sensitivity(
                name=name,
                low=constant.low,
                high=constant.high,
                unit=constant.unit,
                low_s=low_s,
                high_s=high_s,
                turns=turned,
            )
        )
    return max(candidates, key=lambda each: each.high_s - each.low_s, default=None)


def _cost(option: Option, constants: StepConstants) -> float:
    """Device seconds of a token: what both throughput and dollars rank by."""
    tokens = option.tokens_per_s * option.time_s
    return option.parts.time(constants).time_s * option.devices / tokens
