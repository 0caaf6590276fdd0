"""Which of the constants that no document prints decides a plan: how far its ends move the first two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from trnbench_steps.plan.option import Option
from trnbench_steps.step_constants import UNITS, Constant, StepConstants


class Deciding(msgspec.Struct, frozen=True, kw_only=True):
    """`name` moves the first option's step most: from `low_s` to `high_s` between the constant's ends, `low`
    and `high` in `unit`. `turns`: at one of these ends another option of the same generation is faster."""

    name: str
    low: float
    high: float
    unit: str
    low_s: float
    high_s: float
    turns: str = ""


def deciding(
    first: Option, others: Sequence[Option], named: Mapping[str, Constant], label: Mapping[int, str]
) -> Deciding | None:
    """Of the constants `named` of the first option's generation; `others` are compared by their time for one
    token and device. `label` has words for each option by its identity. None where nothing is named."""
    now = {name: each.value * UNITS[name][1] for name, each in named.items()}
    candidates: list[Deciding] = []
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
            Deciding(
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
