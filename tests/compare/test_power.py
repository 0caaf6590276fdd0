"""False verdicts and found slowdowns, on drawn medians: the table of docs/comparing.md."""

from __future__ import annotations

from pathlib import Path

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
