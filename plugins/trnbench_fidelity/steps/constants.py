"""Fitted constants as `workloads.toml` has them, and what they are with a model left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trnbench_fidelity.steps.fitting import LIMITS, FittedStep
from trnbench_fidelity.steps.step_answer import NAMES, StepAnswer
from trnbench_steps.step_constants import UNITS, Constant, StepConstants

METHOD = (
    "least mean |ln(model / published)| over these points, every model and task weighing the same; low and "
    "high are the ends of what it is with a model left out (.ci/renew_steps)"
)
DIGITS = 4


def constants(named: Mapping[str, Constant], without: str = "") -> StepConstants:
    """The values, in seconds and shares; those of a fit without the model `without` where they are known."""
    return StepConstants(
        **{name: each.held_out.get(without, each.value) * UNITS[name][1] for name, each in named.items()}
    )


def fitted_constants(fitted: FittedStep, found: Sequence[StepAnswer]) -> dict[str, Constant]:
    """By name, in the units of the file and rounded as it is. Constants that stay 0 in every fit are left
    out."""
    points = tuple(each.id for each in found if not each.why)
    constants: dict[str, Constant] = {}
    for name in NAMES:
        unit, scale = UNITS[name]
        held_out = {vote: _rounded(values[name] / scale) for vote, values in fitted.held_out.items()}
        value = _rounded(fitted.values[name] / scale)
        ends = (value, *held_out.values())
        if not any(ends):
            continue
        constants[name] = Constant(
            value=value,
            low=min(ends),
            high=max(ends),
            unit=unit,
            method=METHOD,
            points=points,
            held_out=held_out,
        )
    return constants


def as_toml(title: str, made: Mapping[str, Constant]) -> str:
    """The file `workloads.toml` of the generation called `title`."""
    lines = [
        f"# Constants of a model's step on {title}: what no document prints. docs/workloads.md says what",
        "# each is charged for; .ci/renew_steps makes this file.",
        "#",
        "# value, low, high   in `unit`; low and high: the ends of what it is with a model left out",
        "# held_out           by model: the value when all its points are left out of the fit",
        "",
    ]
    for name, constant in made.items():
        limit = LIMITS[name] / UNITS[name][1]
        lines += [
            f"[constants.{name}]",
            f"value = {constant.value!r}",
            f"low = {constant.low!r}",
            f"high = {constant.high!r}",
            f'unit = "{constant.unit}"',
            f'method = "{constant.method}; searched from 0 to {limit:g}"'
            if constant.method == METHOD
            else f'method = "{constant.method}"',
            "points = [",
            *(f'  "{id}",' for id in constant.points),
            "]",
            "",
            f"[constants.{name}.held_out]",
            *(f'"{vote}" = {value!r}' for vote, value in constant.held_out.items()),
            "",
        ]
    return "\n".join(lines)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
