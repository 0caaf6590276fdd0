"""Constants of a step are found again, few odd points pull little, and bounds hold."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from msgspec.structs import replace

from renewal.steps import as_toml, fitted_constants
from trnbench_fidelity.steps.constants import constants
from trnbench_fidelity.steps.fitting import fit, most_of_collectives
from trnbench_fidelity.steps.step_answer import NAMES, StepAnswer
from trnbench_steps.step_constants import StepConstants, read_constants

TRUE = StepConstants(host_s=300e-6, collective_s=20e-6, links_share=1.5)


def answer(number: int, *, off: float = 1.0, model: int | None = None) -> StepAnswer:
    """A step of 64 to 160 collectives whose published time is what `TRUE` says, times `off`."""
    layers, links = 32 + 16 * (number % 4), 1e-3 * (1 + number % 3)
    row = (4e-3 + 1e-3 * number + links, 1.0, 2.0 * layers, 14.0 * layers, links, 2e-3 + 1e-3 * (number % 5))
    made = StepAnswer(
        id=f"p{number}",
        generation="g",
        family="decode, dense",
        vote=f"m{number // 2 if model is None else model}",
        rows=(row,),
        floor_s=1e-3,
        links_s=links,
        collectives=2.0 * layers,
        naive_s=1e-3,
    )
    published = made.time_s(TRUE) * off
    return replace(made, published_s=published)


POINTS = [answer(number) for number in range(10)]


def test_a_step_is_as_long_as_its_slowest_stage() -> None:
    stages = StepAnswer(id="a", generation="g", rows=((1.0, *[0.0] * 5), (0.5, 1.0, *[0.0] * 4)))
    assert stages.time_s(StepConstants()) == 1.0
    assert stages.time_s(StepConstants(host_s=1.0)) == 1.5


def test_constants_are_found_again() -> None:
    found = fit(POINTS)
    times = [each.time_s(StepConstants(**found.values)) / each.published_s for each in POINTS]
    assert max(abs(math.log(each)) for each in times) < 0.01
    assert set(found.values) == set(NAMES)
    assert set(found.held_out) == {f"m{number}" for number in range(5)}


def test_an_odd_point_pulls_little() -> None:
    odd = [*POINTS, answer(3, off=4.0, model=9)]
    values = StepConstants(**fit(odd).values)
    others = [abs(math.log(each.time_s(values) / each.published_s)) for each in POINTS]
    assert sorted(others)[len(others) // 2] < 0.02


def test_a_model_weighs_the_same_however_many_of_its_points_are_published() -> None:
    many = [*POINTS, *(answer(3, off=1.5, model=9) for _ in range(40))]
    values = StepConstants(**fit(many).values)
    others = [abs(math.log(each.time_s(values) / each.published_s)) for each in POINTS]
    assert sorted(others)[len(others) // 2] < 0.02


def test_constants_outside_the_names_stay_at_nothing() -> None:
    found = fit(POINTS, ("host_s",)).values
    assert {name for name, value in found.items() if value} <= {"host_s"}


def test_collectives_leave_room_for_the_rest() -> None:
    """64 all-reduces in a token of 5.86 ms that takes 0.74 ms at least, and the links 0.62: 70 us each."""
    token = StepAnswer(
        id="t", generation="g", published_s=5.86e-3, floor_s=0.74e-3, links_s=0.62e-3, collectives=64.0
    )
    assert most_of_collectives([token]) == pytest.approx(4.5e-3 / 64)
    assert most_of_collectives([token, *POINTS]) <= 4.5e-3 / 64
    full = StepAnswer(id="f", generation="g", published_s=1e-3, floor_s=1e-3, links_s=0.1e-3, collectives=9.0)
    assert most_of_collectives([token, full]) == 0.0
    tight = [replace(each, floor_s=each.published_s - each.links_s) for each in POINTS]
    assert fit(tight).values["collective_s"] == 0.0


def test_a_file_of_constants_is_read_as_it_was_fitted(tmp_path: Path) -> None:
    made = fitted_constants(fit(POINTS), POINTS)
    path = tmp_path / "workloads.toml"
    path.write_text(as_toml("Mine", made))
    read = read_constants(path)
    assert read.keys() == made.keys()
    assert {name: (each.value, each.held_out, each.points) for name, each in read.items()} == {
        name: (each.value, each.held_out, each.points) for name, each in made.items()
    }
    assert constants(read).host_s == pytest.approx(made["host_s"].value * 1e-6)
    assert constants(read, "m1").host_s == pytest.approx(made["host_s"].held_out["m1"] * 1e-6)
    assert constants(read, "unknown") == constants(read)
