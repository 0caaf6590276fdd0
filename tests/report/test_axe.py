"""The page held against the rules of axe-core at three widths, light and dark, and against its budgets."""

from __future__ import annotations

import os
import re
import subprocess
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import typed
from headline_parts import changed
from page_visit import Visit
from run_history import measurement, run
from whole_page import BUILT_IN

from trnbench import Run
from trnbench.store.history import histories
from trnbench.store.store import Store
from trnbench_reports import history, page
from trnbench_reports.view import figure_of

pytestmark = pytest.mark.browser
ENDS = [(1440, "light"), pytest.param(390, "dark", marks=pytest.mark.campaign("axe"))]
TOLD = """([where, options]) => axe.run(where, { resultTypes: ['violations'], ...options }).then((found) =>
  found.violations.map((each) => [each.id, each.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]))"""

COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""Rules of colours, which take most of the time and look at each text; all other rules ask for no colour."""
SHAPE = {"rules": {name: {"enabled": False} for name in COLOURS["runOnly"]}}
ALIKE_EMPTIED = (Path(__file__).parent / "alike_emptied.js").read_text()
"""Of texts that are seen, two with the same elements around them are left: of a table's hundred rows, say."""


@pytest.fixture(scope="module")
def axe() -> str:
    """axe-core, as the package of its name carries it."""
    try:
        return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    except ModuleNotFoundError:
        if os.environ.get("TESTS_REQUIRE_BROWSER"):
            pytest.fail("axe-playwright-python is not installed, and TESTS_REQUIRE_BROWSER is set")
        pytest.skip("axe-playwright-python is not installed (extra: test)")


@pytest.fixture(scope="module")
def file(small: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("axe") / "report.html"
    path.write_bytes(page.render([small], BUILT_IN))
    return path


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        pytest.param(*each, marks=() if each == (390, "light") else pytest.mark.campaign("axe"))
        for each in product((390, 768, 1440), ("light", "dark"))
    ],
)
def test_no_rule_is_broken(browser: Any, file: Path, small: Run, axe: str, width: int, scheme: str) -> None:
    opened = Visit(browser, file, viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab = opened.page
    tab.evaluate("document.querySelectorAll('.open-deep').forEach((button) => button.click())")
    tab.wait_for_selector("#all-cases tbody tr")
    tab.evaluate(axe)
    if scheme == "light":  # the scheme changes colours alone
        assert tab.evaluate(TOLD, ["html", SHAPE]) == []
    assert tab.evaluate("document.querySelectorAll('h1').length") == 1
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(ALIKE_EMPTIED) > 100
    assert tab.evaluate(TOLD, ["html", COLOURS]) == []
    case = next(each for each in small.measurements if each.judgement)
    opened.follow(figure_of(0, case))
    opened.explained()
    # A link to a published point is none that skips a part of the page.
    assert tab.evaluate(TOLD, ["#drawer", {"rules": {"skip-link": {"enabled": False}}}]) == []
    opened.close()


@pytest.mark.parametrize(("width", "scheme"), ENDS)
def test_the_history_breaks_none(browser: Any, axe: str, tmp_path: Path, width: int, scheme: str) -> None:
    with Store(tmp_path / "results.db") as store:
        store.save(*[run(day, [measurement(2.0 if day < 4 else 1.0)]) for day in range(8)])
        found = histories(store, ())
    path = tmp_path / "history.html"
    path.write_bytes(history.render(found))
    opened = Visit(browser, path, viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened.page.evaluate(axe)
    assert opened.page.evaluate(TOLD, ["html", {}]) == []
    opened.close()


@pytest.fixture(scope="module")
def site(small: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    slower = changed(
        small, lambda each: msgspec.structs.replace(each, time_s=each.time_s * 1.2), lambda each: each.time_s
    )
    later = {"id": "later", "created": "2027-01-01T00:00:00Z", "finished": "2027-01-01T01:00:00Z"}
    with Store(folder / "results.db") as store:
        store.save(small, msgspec.structs.replace(slower, digest="", **later))
    done = typed("--store", str(folder / "results.db"), "site", str(folder / "site"))
    assert done.exit_code == 0, done.output
    return folder / "site"


@pytest.mark.parametrize(("width", "scheme"), ENDS)
@pytest.mark.parametrize(
    "name", ["index.html", "history.html", "case.html", "embed/losses.html", "runs/later.html"]
)
def test_a_site_breaks_none(browser: Any, axe: str, site: Path, name: str, width: int, scheme: str) -> None:
    # axe reads style sheets beside the page, which the page's policy forbids to scripts.
    opened = Visit(
        browser, site / name, viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    if name == "case.html":
        opened.until("document.querySelectorAll('#cases tbody tr').length > 0")
    if name.startswith("runs/"):
        opened.page.evaluate("document.querySelectorAll('.open-deep').forEach((button) => button.click())")
        opened.page.wait_for_selector("#all-cases tbody tr")
        opened.page.click("#headline a.figure >> nth=0")
        opened.explained()
    assert opened.complaints == []
    opened.page.evaluate(axe)
    assert opened.page.evaluate(TOLD, ["html", {"preload": False}]) == []
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    opened.close()


@pytest.mark.parametrize(("width", "scheme"), ENDS)
def test_the_comparison_breaks_none(
    browser: Any, axe: str, small: Run, tmp_path: Path, width: int, scheme: str
) -> None:
    slower = changed(
        small, lambda each: msgspec.structs.replace(each, time_s=each.time_s * 1.2), lambda each: each.time_s
    )
    path = tmp_path / "comparison.html"
    later = msgspec.structs.replace(slower, id="later", digest="")
    path.write_bytes(page.render([small, later], BUILT_IN))
    opened = Visit(browser, path, viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened.page.evaluate(axe)
    assert opened.page.locator("#comparison").count() == 1
    assert opened.page.evaluate(TOLD, ["html", SHAPE]) == []
    assert opened.page.evaluate(ALIKE_EMPTIED) > 100
    assert opened.page.evaluate(TOLD, ["html", COLOURS]) == []
    opened.close()


# The page of the default run: bytes and nodes, and how many pages it prints on.


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


WORDS, NUMBERS, BOTTOM = 200, 60, 860
"""Of the first screen, the page's contents included; `BOTTOM` in pixels of a window of 1440 × 900."""


def first_screen(opened: Visit) -> tuple[int, int, float]:
    """Words, numbers, and where it ends. A name that holds a digit is a word, a day one number."""
    texts = ("header", "#headline")
    seen = " ".join(opened.page.inner_text(text) for text in texts).split()
    drawn = opened.page.eval_on_selector_all("#headline svg text", "all => all.map((e) => e.textContent)")
    seen += " ".join(drawn).split()
    bottom = opened.page.evaluate("document.getElementById('headline').getBoundingClientRect().bottom")
    words = sum(bool(re.match(r"\W*[^\W\d_]", word)) for word in seen)
    numbers = sum(len(re.findall(r"\d[\d,.-]*", word)) for word in seen if re.match(r"\W*\d", word))
    return words, numbers, bottom


@pytest.mark.campaign("default run")
@pytest.mark.parametrize("font", ["DejaVu Sans", "Roboto"])
def test_the_first_screen_is_read_in_thirty_seconds(browser: Any, default_run: Path, font: str) -> None:
    if not subprocess.run(["fc-list", font], capture_output=True, check=False).stdout:
        pytest.skip(f"the font {font} is not installed")
    page_text = (default_run / "trnbench-report.html").read_text(encoding="utf-8")
    plain = default_run / f"{font.replace(' ', '-')}.html"
    plain.write_text(
        re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page_text).replace(
            "</head>", f"<style>* {{ font-family: '{font}' !important }}</style></head>"
        ),
        encoding="utf-8",
    )
    opened = Visit(browser, plain)
    words, numbers, bottom = first_screen(opened)
    opened.close()
    assert words <= WORDS
    assert numbers <= NUMBERS
    assert bottom <= BOTTOM
