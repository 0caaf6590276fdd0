"""The page in windows between a phone's and a desk's: nothing sideways, and what is drawn is wide enough."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_visit import Visit
from run_history import measurement, run
from whole_page import BUILT_IN

from trnbench import Run
from trnbench.store.history import histories
from trnbench.store.store import Store
from trnbench_reports import history, page

pytestmark = pytest.mark.browser

HERE = Path(__file__).parent
OPENED = """document.querySelectorAll('details').forEach((each) => { each.open = true; })"""
REACHED = """() => [...document.querySelectorAll('#rooflines .chart')].flatMap((chart) => {
  const title = chart.querySelector('text[transform*="-90"]').getBoundingClientRect();
  return [...chart.querySelectorAll('[text-anchor=end] text')].map((label) => label.getBoundingClientRect())
    .filter((box) => box.left < title.right - 2 && box.bottom > title.top && box.top < title.bottom)
    .map((box) => [title.right, box.left]);
})"""


@pytest.fixture(scope="module")
def opened(browser: Any, fewer: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    path = tmp_path_factory.mktemp("widths") / "report.html"
    path.write_bytes(page.render([fewer], BUILT_IN))
    visit = Visit(browser, path)
    visit.page.click("#rooflines .open-deep")
    visit.page.wait_for_selector("#rooflines .chart")
    yield visit
    assert visit.complaints == []
    visit.close()


def wide(visit: Visit, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 900})


def test_no_window_scrolls_sideways_whatever_is_unfolded(opened: Visit) -> None:
    """720 pixels are a window of 1440 at 200 %."""
    opened.page.evaluate(OPENED)
    for width in (320, 360, 560, 641, 680, 720, 768, 860, 992, 1024, 1200):
        wide(opened, width)
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("width", "least"), [(1920, 26), (1440, 26), (1430, 90), (1280, 90), (1024, 90)])
def test_a_range_on_the_scoreboard_is_wide_enough_to_be_read(opened: Visit, width: int, least: int) -> None:
    wide(opened, width)
    found = opened.page.eval_on_selector_all(
        ".board .main .span", "all => all.map((each) => each.getBoundingClientRect().width)"
    )
    assert min(found) >= least


def test_an_axis_and_its_labels_stand_apart_on_a_phone(opened: Visit) -> None:
    wide(opened, 360)
    assert opened.page.evaluate(REACHED) == []


def test_a_long_name_of_a_kernel_stays_in_its_column(browser: Any, hostile: Run, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(
        page.render([hostile], [each for each in BUILT_IN if each.name in ("headline", "cases")])
    )
    visit = Visit(browser, path, "#cases")
    visit.page.wait_for_selector("#all-cases tbody tr")
    assert (
        visit.page.eval_on_selector_all(
            "#all-cases tbody th",
            "all => all.filter((each) => each.scrollWidth > each.clientWidth + 1).length",
        )
        == 0
    )
    visit.close()


def test_the_page_of_histories_has_the_controls_of_the_report(browser: Any, tmp_path: Path) -> None:
    with Store(tmp_path / "results.db") as store:
        store.save(*[run(day, [measurement(2.0)]) for day in range(3)])
        found = histories(store, ())
    path = tmp_path / "history.html"
    path.write_bytes(history.render(found))
    visit = Visit(browser, path)
    head = visit.page.locator("th button").first
    assert head.evaluate("(each) => getComputedStyle(each).borderTopWidth") == "0px"
    assert head.evaluate("(each) => getComputedStyle(each, '::after').content") == '" ↕"'
    assert visit.page.locator("form input").evaluate("(each) => each.getBoundingClientRect().width") < 400
    visit.close()
