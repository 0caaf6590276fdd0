"""False verdicts and found slowdowns, on drawn medians: the table of docs/comparing.md."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from campaigns import sweep
from power import SETTINGS, Setting, shares

PAGE = (Path(__file__).parents[2] / "docs" / "comparing.md").read_text(encoding="utf-8")


def told(setting: Setting) -> tuple[str, str]:
    section = PAGE.partition("### How often it is wrong\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines()]
    (row,) = (row for row in rows if row[:2] == [setting.shown, str(setting.cases)])
    return row[2], row[3]


@pytest.mark.parametrize(
    "setting", sweep(SETTINGS, SETTINGS[0].__eq__), ids=lambda each: f"{each.shown}, {each.cases}"
)
def test_the_page_has_these_figures(setting: Setting) -> None:
    wrong, found = shares(setting)
    assert wrong <= 0.05
    if setting.spread <= 0.005:
        assert found >= 0.8
    assert told(setting) == (f"{100 * wrong:.1f} %", f"{100 * found:.1f} %")


def test_resampling_three_medians_cannot_tell_less_than_ten_per_cent() -> None:
    """Whatever is drawn from three values a side, they lie apart altogether in 2 of 20 arrangements."""
    arrangements = list(combinations(range(6), 3))
    apart = [set(each) for each in arrangements if max(each) < 3 or min(each) > 2]
    assert (len(apart), len(arrangements)) == (2, 20)


def test_a_percentile_bootstrap_of_three_medians_is_wrong_one_time_in_ten() -> None:
    """Its interval leaves out nothing exactly where the two sets lie apart: the reason why it is not used."""
    random = np.random.default_rng(3)
    wrong = 0
    for _ in range(400):
        sides = random.standard_normal((2, 3))
        drawn = [np.median(side[random.integers(0, 3, (1000, 3))], axis=1) for side in sides]
        low, high = np.quantile(drawn[1] - drawn[0], [0.025, 0.975])
        wrong += low > 0 or high < 0
    assert 0.07 < wrong / 400 < 0.2
