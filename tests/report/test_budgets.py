"""The page of the default run: bytes and nodes, and how many pages it prints on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from page_visit import Visit

pytestmark = pytest.mark.browser

BYTES, NODES, SHEETS = 2_000_000, 10_000, 12
SCREEN = 900
"""Pixels of a window of 1440 × 900; each view of the second depth fits in it."""
VIEWS = ("scoreboard", "losses", "links", "generations")


@pytest.mark.campaign("default run")
def test_the_page_of_the_default_run_is_within_its_budgets(browser: Any, default_run: Path) -> None:
    path = default_run / "trnbench-report.html"
    assert path.stat().st_size <= BYTES
    opened = Visit(browser, path)
    assert opened.page.evaluate("document.getElementsByTagName('*').length") <= NODES
    heights = {
        name: opened.page.evaluate("(id) => document.getElementById(id).getBoundingClientRect().height", name)
        for name in VIEWS
    }
    assert max(heights.values()) <= SCREEN, heights
    printed = opened.page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= SHEETS
    assert opened.complaints == []
    opened.close()
