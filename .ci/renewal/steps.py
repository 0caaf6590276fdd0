"""Constants of models' steps, and all that follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from renewal import ERRORS, inserted, write
from renewal.answers import write_answers
from renewal.sections import step_bands, step_ends, step_section
from trnbench_fidelity.steps import archive, errors, validate
from trnbench_fidelity.steps.archive import NAMES, StepAnswer, StepArchive
from trnbench_fidelity.steps.nearness import known_steps
from trnbench_fidelity.steps.validate import (
    LIMITS,
    STEPS,
    FittedStep,
    errors_of,
    fit,
    inside,
    named_constants,
)
from trnbench_steps.step_constants import UNITS, Constant

if TYPE_CHECKING:
    from trnbench.registry import Registry

METHOD = (
    "least mean |ln(model / published)| over these points, every model and task weighing the same; low and "
    "high are the ends of what it is with a model left out, and half a step of the search beyond "
    "(.ci/renew steps)"
)
DIGITS = 4


def renew(registry: Registry, *, kept: bool) -> None:
    """Each generation's workloads.toml, its section of steps, and the table of docs/errors.md.

    Composes every published step, which takes minutes; where `kept`, the plugins' answers are taken. Raises
    what `answered` raises.
    """
    answered = archive.step_archives(registry) if kept else validate.answered(registry)
    for name, each in answered.items():
        generation = registry.generations[name]
        if generation.workloads is not None:
            fitted = fitted_constants(fit(each.answers), each.answers)
            write(generation.workloads, as_toml(generation.title, fitted))
    for name, each in banded(registry, answered).items():
        write_answers(registry.generations[name], {archive.SECTION: step_section(registry, each)})
    page = errors.markdown(validate.compared(registry, answered))
    write(ERRORS, inserted(ERRORS.read_text(encoding="utf-8"), page, errors.BEGIN, errors.END))


def banded(registry: Registry, kept: dict[str, StepArchive]) -> dict[str, StepArchive]:
    """`kept` with the bands that its answers make, each point with constants fitted without its model, and
    with the points that lie in the bands made without theirs."""
    points = errors_of(registry, kept)
    known = known_steps(registry)
    errors = {each.id: each.e_cross for each in points if each.e_cross is not None}
    first = next(iter(kept.values()))
    bands = step_bands(known, errors, first.version)
    ended = {
        name: msgspec.structs.replace(each, ends=step_ends(each, named_constants(registry, name)))
        for name, each in kept.items()
    }
    lies = inside(known, points, ended)
    return {
        name: msgspec.structs.replace(
            each,
            groups=bands[name].groups if name in bands else {},
            inside={answer.id: lies[answer.id] for answer in each.answers if answer.id in lies},
        )
        for name, each in ended.items()
    }


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
        half = LIMITS[name] / scale * STEPS[-1] / 2
        constants[name] = Constant(
            value=value,
            low=_rounded(max(0.0, min(ends) - half)),
            high=_rounded(max(ends) + half),
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
        "# each is charged for; .ci/renew steps makes this file.",
        "#",
        "# value, low, high   in `unit`; low and high: the ends of what it is with a model left out,",
        "#                    half a step of the search further",
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
