"""Device memory that is wrong alike on every level is held against other documented figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from checked_project import change, found


def rescaled(project: Path, metric: str, unit: str, to: str) -> None:
    """Every figure of `metric` keeps its digits and changes its unit, on all levels."""
    (facts,) = project.rglob("facts.toml")
    text, count = re.subn(
        rf'({metric}", printed = "[0-9.]+", unit = )"{unit}"', rf'\1"{to}"', facts.read_text()
    )
    assert count >= 2
    facts.write_text(text)


def test_figures_of_the_skeleton_are_plausible(project: Path) -> None:
    assert found(project, "facts") == []


def test_a_thousandth_of_the_capacity_is_below_the_on_chip_memory_and_other_generations(
    project: Path,
) -> None:
    rescaled(project, "hbm_capacity", "GiB", "MiB")
    chip, others = found(project, "facts")
    assert chip.about == others.about
    assert re.fullmatch(
        r"is implausible: 32 MiB of \S+-device \(.*\), no more than the on-chip memory: "
        r"2 cores × 24 MiB of \S+ \(.*\)",
        chip.problem,
    )
    assert re.fullmatch(
        r"is implausible: 32 MiB of \S+-device \(.*\), 1,0\d\d times off the nearest: .* of \S+ \(.*\)",
        others.problem,
    )


@pytest.mark.parametrize("unit", ["GB/s", "PB/s"])
def test_a_bandwidth_a_thousand_times_off_is_named_beside_the_nearest(project: Path, unit: str) -> None:
    rescaled(project, "hbm_bandwidth", "TB/s", unit)
    problems = [each.problem for each in found(project, "facts") if "hbm_bandwidth" in each.about]
    assert [bool(re.search(r"times off the nearest: .* of \S+ \(", each)) for each in problems] == [True]


def test_an_unusual_memory_is_no_mistake(project: Path) -> None:
    change(project, "facts.toml", '"hbm_bandwidth", printed = "4"', '"hbm_bandwidth", printed = "0.4"')
    change(project, "facts.toml", '"hbm_bandwidth", printed = "1"', '"hbm_bandwidth", printed = "0.1"')
    assert [each for each in found(project, "facts") if "implausible" in each.problem] == []
