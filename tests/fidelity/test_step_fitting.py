"""Constants of a step are found again, few odd points pull little, and bounds hold."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from msgspec.structs import replace

from renewal.steps import as_toml, fitted_constants
from trnbench_fidelity.steps.archive import NAMES, StepAnswer
from trnbench_fidelity.steps.validate import fit, most_residue
from trnbench_steps.step_constants import StepConstants, in_seconds, read_constants

TRUE = StepConstants(operator_s=4e-6, collective_residue=1.5, engine_share=0.2)


def answer(number: int, *, off: float = 1.0, model: int | None = None) -> StepAnswer:
    """A step of 64 to 160 collectives whose published time is what `TRUE` says, times `off`."""
    layers, links = 32 + 16 * (number % 4), 1e-3 * (1 + number % 3)
    row = (4e-3 + 1e-3 * number + links, 14.0 * layers, links, 2e-3 + 1e-3 * (number % 5))
    made = StepAnswer(
        id=f"p{number}",
        generation="g",
        family="decode, dense",
        vote=f"m{number // 2 if model is None else model}",
        rows=(row,),
        floor_s=1e-3,
        moving_s=links,
        naive_s=1e-3,
    )
    published = made.time_s(TRUE) * off
    return replace(made, published_s=published)


POINTS = [answer(number) for number in range(10)]


def test_a_step_is_as_long_as_its_slowest_stage() -> None:
    stages = StepAnswer(id="a", generation="g", rows=((1.0, *[0.0] * 3), (0.5, 1.0, *[0.0] * 2)))
    assert stages.time_s(StepConstants()) == 1.0
    assert stages.time_s(StepConstants(operator_s=1.0)) == 1.5


def test_constants_are_found_again() -> None:
    found = fit(POINTS)
    times = [each.time_s(StepConstants(**found.values)) / each.published_s for each in POINTS]
    assert max(abs(math.log(each)) for each in times) < 0.05
    assert set(found.values) == set(NAMES)
    assert set(found.held_out) == {f"m{number}" for number in range(5)}


def test_an_odd_point_pulls_little() -> None:
    odd = [*POINTS, answer(3, off=4.0, model=9)]
    values = StepConstants(**fit(odd).values)
    others = [abs(math.log(each.time_s(values) / each.published_s)) for each in POINTS]
    assert sorted(others)[len(others) // 2] < 0.05


def test_a_model_weighs_the_same_however_many_of_its_points_are_published() -> None:
    many = [*POINTS, *(answer(3, off=1.5, model=9) for _ in range(40))]
    values = StepConstants(**fit(many).values)
    others = [abs(math.log(each.time_s(values) / each.published_s)) for each in POINTS]
    assert sorted(others)[len(others) // 2] < 0.05


def test_collectives_take_no_longer_than_a_published_token() -> None:
    """All-reduces in a token of 5.86 ms, whose starts take 1.16 ms and the links 0.62."""
    token = StepAnswer(id="t", generation="g", published_s=5.86e-3, starts_s=1.16e-3, moving_s=0.62e-3)
    assert most_residue([token]) == pytest.approx((5.86 - 1.16 - 0.62) / 0.62)
    assert most_residue([token, *POINTS]) <= most_residue([token])
    full = replace(token, starts_s=token.published_s)
    assert most_residue([token, full]) == 0.0
    tight = [replace(each, starts_s=each.published_s - each.moving_s) for each in POINTS]
    assert fit(tight).values["collective_residue"] == 0.0


def test_a_file_of_constants_is_read_as_it_was_fitted(tmp_path: Path) -> None:
    made = fitted_constants(fit(POINTS), POINTS)
    path = tmp_path / "workloads.toml"
    path.write_text(as_toml("Mine", made))
    read = read_constants(path)
    assert read.keys() == made.keys()
    assert {name: (each.value, each.held_out, each.points) for name, each in read.items()} == {
        name: (each.value, each.held_out, each.points) for name, each in made.items()
    }
    assert in_seconds(read).operator_s == pytest.approx(made["operator_s"].value * 1e-6)
    assert in_seconds(read, "m1").operator_s == pytest.approx(made["operator_s"].held_out["m1"] * 1e-6)
    assert in_seconds(read, "unknown") == in_seconds(read)
