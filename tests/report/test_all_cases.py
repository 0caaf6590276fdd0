"""All cases in one table, made in the browser from the embedded data."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_visit import Visit
from whole_page import BUILT_IN

from trnbench import Run, Status
from trnbench_reports import numbers, page, view

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def opened(browser: Any, fewer: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    path = tmp_path_factory.mktemp("cases") / "report.html"
    path.write_bytes(page.render([fewer], [each for each in BUILT_IN if each.name in ("headline", "cases")]))
    visit = Visit(browser, path, "#cases")
    visit.page.wait_for_selector("#all-cases tbody tr")
    yield visit
    assert visit.complaints == []
    visit.close()


@pytest.fixture
def visit(opened: Visit) -> Visit:
    opened.page.click("#all-cases [type=reset]")
    # The page empties its form in a task of its own: one that is asked for later comes after it.
    opened.page.evaluate("new Promise((done) => setTimeout(done, 1))")
    assert opened.page.evaluate("!location.hash.includes('?')")
    return opened


def rows(visit: Visit) -> list[list[str]]:
    found: list[list[str]] = visit.page.evaluate(
        "[...document.querySelectorAll('#all-cases tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    return found


def said(visit: Visit) -> str:
    return str(visit.page.inner_text("#all-cases > .note"))


def test_a_page_of_rows_at_a_time(visit: Visit, fewer: Run) -> None:
    total = len(fewer.measurements)
    assert said(visit) == f"1 to 100 of {total:,} cases"
    first = rows(visit)
    assert len(first) == 100
    assert [row[0] for row in first] == [each.case.kernel for each in fewer.measurements[:100]]
    assert visit.page.is_disabled("text=Earlier rows")
    visit.page.click("text=Further rows")
    assert said(visit) == f"101 to 200 of {total:,} cases"
    assert rows(visit)[0][3] == ", ".join(f"{k}={v}" for k, v in fewer.measurements[100].case.point.items())


def test_rows_without_a_band_are_grey(visit: Visit, fewer: Run) -> None:
    drawn = visit.page.evaluate(
        "[...document.querySelectorAll('#all-cases tbody tr')].map((row) => row.className)"
    )
    wanted = ["faint" if view.faint(each) else "" for each in fewer.measurements[:100]]
    assert drawn == wanted
    assert len(set(wanted)) == 2


def test_it_is_searched_and_filtered_and_the_address_keeps_it(visit: Visit, fewer: Run) -> None:
    visit.page.fill("#cases-q", "softmax u-trn2x64")
    wanted = [m for m in fewer.measurements if m.case.kernel == "softmax" and m.case.instance == "u-trn2x64"]
    visit.until("location.hash === '#cases?q=softmax+u-trn2x64'")
    assert said(visit) == f"1 to {len(wanted)} of {len(wanted)} cases, of {len(fewer.measurements):,} in all"
    visit.page.fill("#cases-q", "")
    visit.page.select_option("#cases-t", "skipped")
    visit.page.select_option("#cases-y", "trn2-16.48xlarge")
    skipped = [
        m for m in fewer.measurements if m.status is Status.SKIPPED and m.case.instance == "trn2-16.48xlarge"
    ]
    visit.until("location.hash === '#cases?y=trn2-16.48xlarge&t=skipped'")
    assert len(rows(visit)) == min(len(skipped), 100) > 0
    other = Visit(
        visit.page.context.browser, Path(visit.url.removeprefix("file://")), "#cases?q=hbm_copy&sort=-share"
    )
    other.page.wait_for_selector("#all-cases tbody tr")
    assert {row[0] for row in rows(other)} == {"hbm_copy"}
    assert other.page.locator("th[aria-sort=descending]").inner_text().startswith("% of peak")
    other.close()


def test_heads_sort_and_what_has_no_value_is_last(visit: Visit, fewer: Run) -> None:
    visit.page.click("#all-cases th:has-text('Time') button")
    times = sorted((m.time_s for m in fewer.measurements if m.time_s is not None), reverse=True)
    assert [row[7] for row in rows(visit)] == [numbers.show(each, "s") for each in times[:100]]
    visit.page.click("#all-cases th:has-text('Time') button")
    assert [row[7] for row in rows(visit)][:5] == [numbers.show(each, "s") for each in times[::-1][:5]]
    assert visit.page.locator("#all-cases th[aria-sort]").count() == 1
    visit.page.click("#all-cases th:has-text('Result') button")
    units = [row[4].split(numbers.NBSP)[-1] for row in rows(visit) if row[4] != "–"]
    assert all("FLOPS" in unit for unit in units)
    assert visit.page.locator("#all-cases th:has-text('Expect') button").count() == 0  # it has two ends


def test_a_number_opens_its_explanation_and_comes_back(visit: Visit) -> None:
    visit.page.fill("#cases-q", "gemm")
    visit.until("location.hash.includes('q=gemm')")
    visit.page.locator("#all-cases tbody td a").first.click()
    assert "How it follows" in visit.explained()
    visit.page.keyboard.press("Escape")
    visit.until("location.hash === '#cases?q=gemm'")
    assert visit.page.input_value("#cases-q") == "gemm"


@pytest.mark.parametrize("way", ["Escape", "Close", "back"])
def test_the_drawer_leads_back_to_the_row_of_a_further_page(visit: Visit, way: str) -> None:
    tab = visit.page
    tab.click("#all-cases th[data-name=value] button")
    tab.click("text=Further rows")
    before = said(visit), rows(visit)
    figure = tab.locator("#all-cases tbody tr:nth-child(20) a.figure").first
    figure.click()
    visit.explained()
    if way == "Escape":
        tab.keyboard.press("Escape")
    elif way == "Close":
        tab.click("#drawer-close")
    else:
        tab.go_back()
    visit.until("location.hash.startsWith('#cases') && !document.querySelector('#drawer').open")
    tab.wait_for_timeout(200)
    assert (said(visit), rows(visit)) == before
    assert figure.evaluate("(link) => link === document.activeElement")


def test_what_is_shown_can_be_saved_as_a_table(visit: Visit, fewer: Run) -> None:
    visit.page.select_option("#cases-t", "suspect")
    visit.until("location.hash.includes('t=suspect')")
    with visit.page.expect_download() as waiting:
        visit.page.click("text=Save CSV")
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    (case,) = [m for m in fewer.measurements if m.status is Status.SUSPECT]
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert row["case"] == case.id
    assert row["reason"] == case.reason_text
    assert float(row["value"]) == case.metrics[case.primary].value
    assert float(row["time_s"]) == case.time_s
