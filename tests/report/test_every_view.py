"""Views of a default run in a browser: evidence within two clicks, marks told apart, no words collide."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from page_visit import Visit

pytestmark = [pytest.mark.browser, pytest.mark.campaign("default run"), pytest.mark.parts]

HERE = Path(__file__).parent
WIDER = (HERE / "wider_cells.js").read_text()
LEGENDS = (HERE / "legends.js").read_text()
DRAWN = (HERE / "shared_marks.js").read_text()


def unfolded(opened: Visit) -> None:
    opened.page.evaluate("document.querySelectorAll('.open-deep').forEach((button) => button.click())")
    opened.page.wait_for_selector("#rooflines use")


def test_no_words_of_a_table_reach_into_the_next_column(browser: Any, default_run: Path) -> None:
    for width in (1600, 1440, 1360, 1280, 1216, 768, 390):
        file = default_run / "trnbench-report.html"
        visit = Visit(browser, file, viewport={"width": width, "height": 900})
        assert visit.page.evaluate(WIDER) == [], width
        visit.follow("#cases")
        visit.page.wait_for_selector("#all-cases tbody tr")
        assert visit.page.evaluate(WIDER) == [], f"every case, {width}"
        visit.close()


def test_no_two_series_share_mark_and_colour(opened: Visit) -> None:
    unfolded(opened)
    legends = opened.page.evaluate(LEGENDS)
    assert max(map(len, legends)) == 7
    assert all(len(set(legend)) == len(legend) for legend in legends)
    figures = opened.page.query_selector_all("#rooflines .figure")
    assert len(figures) > 3
    for figure in figures:
        assert figure.evaluate(DRAWN) == []


@pytest.mark.parametrize("view", ["scoreboard", "links", "rooflines"])
def test_what_is_published_is_drawn_and_two_clicks_from_its_source(opened: Visit, view: str) -> None:
    unfolded(opened)
    page = opened.page
    assert page.locator(f"#{view} .diamond, #{view} use[href='#k3']").count() > 1
    if view == "scoreboard":
        page.click("#scoreboard .near a >> nth=0")
    else:
        mark = page.locator(f"#{view} use[href='#k3']:visible").first
        opened.follow("#" + str(mark.get_attribute("data-id")))
    opened.explained()
    page.click("#drawer a[href*='#point='] >> nth=0")
    page.wait_for_function("document.querySelector('#drawer').innerText.includes('Published and model')")
    assert "source" in page.inner_text("#drawer").lower()


RENEWED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from renewal import picture
picture.PICTURE = Path(sys.argv[3])
picture.renew(Path(sys.argv[2]))
"""


def test_the_picture_in_the_docs_comes_from_one_command(
    browser: Any, default_run: Path, root: Path, tmp_path: Path
) -> None:
    """`.ci/renew picture REPORT`, beside the tree. Fonts differ between machines: sizes alone are equal."""
    report, made = default_run / "trnbench-report.html", tmp_path / "first-screen.png"
    subprocess.run([sys.executable, "-c", RENEWED, root / ".ci", report, made], check=True)
    (kept,) = (root / "docs" / "images").iterdir()
    assert kept.name == made.name
    assert made.read_bytes()[:24] == kept.read_bytes()[:24]  # signature, width and height
    assert abs(made.stat().st_size / kept.stat().st_size - 1) < 0.5  # no blank page
