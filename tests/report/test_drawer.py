"""The drawer that explains a figure: what it says, and how it is opened and left."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import typed
from page_visit import Visit
from whole_page import BUILT_IN, unfolded

import trnbench
from trnbench import Measurement, Run
from trnbench_reports import losses, numbers, page, view
from trnbench_reports.template import asset
from trnbench_reports.view import figure_of

pytestmark = [pytest.mark.parts, pytest.mark.browser]
LIBRARY = "".join(map(asset, ("numbers.js", "columns.js", "data.js", "words.js")))
ALL = (
    "async () => {"
    + LIBRARY
    + """
  const [run] = await runs();
  return Array.from({ length: run.count }, (_, place) => {
    const each = run.case(place).value;
    return [run.nameOf(place), expectedOf(each, primaryOf(each)), termsOf(each), repeats(run, each)];
  });
}"""
)
VALUES = (0.0, 1.0, 999.4999, 999.7e9, 1023.999 * 2**20, 0.0625, 2.5e-9, 1.23456789e-13, 12_345_678.0, 9.996)


@pytest.fixture(scope="module")
def file(headline_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("drawer") / "report.html"
    path.write_bytes(page.render([headline_run], BUILT_IN))
    return path


@pytest.fixture(scope="module")
def shared(browser: Any, file: Path) -> Iterator[Visit]:
    opened = Visit(browser, file)
    yield opened
    assert opened.complaints == []
    assert opened.requests == [opened.url]
    opened.close()


@pytest.fixture
def visit(shared: Visit) -> Visit:
    """At the top of the page, the drawer closed."""
    shared.page.goto("about:blank")
    shared.page.goto(shared.url)
    shared.requests[:] = [shared.url]
    return shared


def of(run: Run, kernel: str, instance: str) -> Measurement:
    found = [m for m in run.measurements if (m.case.kernel, m.case.instance) == (kernel, instance)]
    return max((m for m in found if m.judgement), key=lambda m: m.judgement.fraction if m.judgement else 0.0)


def plain(text: str) -> str:
    return text.replace(numbers.NBSP, " ")


def test_the_script_says_numbers_as_the_core_does(shared: Visit) -> None:
    units = ("FLOP/s", "B/s", "s", "B", "1", "FLOP/B", "1/s", "element/s")
    asked = [(value, unit) for value in VALUES for unit in units if unit != "1/s" or value > 1e-3]
    shares = [0.0, 0.0004, -0.0004, -0.035, 0.5, 0.99951, 0.99999, 1.0, 1.0002, 12.3456, 0.0625]
    errors = [0.0, 0.1, -0.1, 1.4, -0.8, 0.0004]
    said = shared.page.evaluate(
        f"([asked, shares, errors]) => {{ {LIBRARY} return [asked.map((pair) => show(...pair)),"
        " shares.map(percent), errors.map(signedError)]; }",
        [asked, shares, errors],
    )
    assert said[0] == [numbers.show(*each) for each in asked]
    assert said[1] == [numbers.percent(each) for each in shares]
    assert said[2] == [numbers.error(each) for each in errors]


def test_every_case_is_found_by_its_id_with_its_band_and_its_losses(shared: Visit, headline_run: Run) -> None:
    said = shared.page.evaluate(ALL)
    assert [each[0] for each in said] == [each.id for each in headline_run.measurements]
    for (_, expected, terms, _), case in zip(said, headline_run.measurements, strict=True):
        known = trnbench.expected(case)
        assert (expected is None) == (known is None)
        assert known is None or expected == pytest.approx(known, rel=1e-12)
        told = losses.of(case)
        if told is not None and "waterfall" in case.detail:
            assert [name for name, _ in terms] == [name for name, _ in told.terms]
            assert [value for _, value in terms] == pytest.approx([value for _, value in told.terms])


def test_no_two_parts_of_the_page_share_a_name(file: Path) -> None:
    names = Counter(re.findall(r'<\w+[^>]* id="?([^"\s>]+)', unfolded(file.read_text("utf-8"))))
    assert [name for name, count in names.items() if count > 1] == []


def test_the_command_repeats_the_case(shared: Visit, headline_run: Run, tmp_path: Path) -> None:

    said = {each[0]: each[3] for each in shared.page.evaluate(ALL)}
    for kernel, instance in (("gemm", "trn2-16.48xlarge"), ("all_reduce", "u-trn2x64")):
        case = of(headline_run, kernel, instance)
        words = shlex.split(said[case.id])
        assert words[:2] == ["trnbench", "run"]
        store = str(tmp_path / "store.db")
        done = typed("--store", store, *words[1:], "--dry-run", "--format", "json")
        assert done.exit_code == 0, done.output
        (planned,) = json.loads(done.stdout)
        assert (planned["instance"], planned["case"]) == (instance, case.case.fullname)


STEP = ["trnbench", "workload", "run", "llama 3", "--tp", "8"]
FACTS = ["--facts", "~/…/my facts.toml", "-q", "--facts=b.toml"]
GEMM = "trnbench run gemm -i trn2 --scope device --division replicated -a size=4096"


@pytest.mark.parametrize(
    ("settings", "argv", "said"),
    [
        ({}, STEP, GEMM),
        ({}, [*STEP, *FACTS], f"{GEMM} --facts '~/…/my facts.toml' --facts=b.toml"),
        ({"selection": {"workload": {"model": "llama 3"}}}, STEP, shlex.join(STEP)),
        ({"imported_from": "nccl-tests"}, STEP, ""),
    ],
    ids=["replicated", "facts", "step", "imported"],
)
def test_the_command_is_of_the_very_case(
    shared: Visit, settings: dict[str, Any], argv: list[str], said: str
) -> None:
    case = {"kernel": "gemm", "instance": "trn2", "scope": "device", "point": {"size": 4096}}
    fields = {"settings": settings, "argv": argv, "policy": "seed", "backend": "emulated"}
    asked = f"([of, key]) => {{ {LIBRARY} return repeats({{ field: (at) => of[at] }}, {{ case: key }}); }}"
    assert shared.page.evaluate(asked, [fields, {**case, "division": "replicated"}]) == said


@pytest.mark.parametrize(
    ("family", "tags", "said"),
    [
        ("collective", [], "trnbench fabric sensitivity all_gather -i trn2 -b 4096 --facts=b.toml"),
        ("collective", ["groups"], ""),
        ("moe", [], ""),
    ],
)
def test_only_a_collective_is_asked_for_its_sensitivity(
    shared: Visit, family: str, tags: list[str], said: str
) -> None:
    case = {
        "kernel": "all_gather",
        "family": family,
        "instance": "trn2",
        "tags": tags,
        "point": {"size": 4096},
    }
    asked = (
        f"(key) => {{ {LIBRARY} const run = {{ field: () => ['--facts=b.toml'] }};"
        " return sensitivity(run, { case: key, detail: { waterfall_s: {} } }); }"
    )
    assert shared.page.evaluate(asked, case) == said


def test_a_product_is_explained_from_value_to_documents(visit: Visit, headline_run: Run) -> None:
    case = of(headline_run, "gemm", "trn2-16.48xlarge")
    visit.follow(figure_of(0, case))
    said = plain(visit.explained())
    judged = case.judgement
    metric = case.metrics[case.primary]
    assert visit.page.inner_text("#drawer-title") == "gemm"
    for text in (
        numbers.show(metric.value, metric.unit),
        view.expect_text(case),
        f"{case.work['flops']:,.0f}",
        numbers.percent(judged.fraction),
        numbers.show(judged.peaks.chosen.value, "FLOP/s"),
        *(numbers.show(each.value, "FLOP/s") for each in judged.peaks.alternatives),
        "C16",
        "semaphore-latency",
        "0 s to 200 ns",
        "in all",
        "Timeline by engine",
        "Nearest published points",
        f"trnbench runs trace {headline_run.id}",
        f"trnbench runs assumptions {headline_run.id} '{case.id}'",
        "trnbench run gemm -i trn2-16.48xlarge",
    ):
        assert plain(text) in said, text
    (fact,) = [
        fact
        for book in headline_run.books.values()
        for fact in book.facts
        if fact.id == judged.peaks.chosen.facts[0] and fact.subject.startswith("trn2")
    ][:1]
    assert fact.locator in said
    points = visit.page.locator('#drawer a[href^="#point="]').evaluate_all(
        "(found) => found.map((each) => each.hash.slice(7))"
    )
    assert set(points) <= {point.id for point in headline_run.fidelity.points}
    heads = visit.page.locator("#drawer h3").all_inner_texts()
    assert heads.index("How it follows") < heads.index("The peak it is compared with")
    assert heads.index("The peak it is compared with") < heads.index("What is assumed")
    assert heads[-1] == "Repeat it"


def test_an_address_opens_it_at_the_block_that_is_asked_for(
    browser: Any, file: Path, headline_run: Run
) -> None:
    case = of(headline_run, "all_reduce", "trn2-16.48xlarge")
    opened = Visit(browser, file, f"#{figure_of(0, case, 'loss')}")
    opened.explained()
    assert opened.page.evaluate("document.activeElement.id") == "why-waterfall-h"
    assert "trnbench fabric sensitivity all_reduce" in opened.explained()
    opened.page.keyboard.press("Escape")
    opened.page.wait_for_selector("#drawer:not([open])", state="attached")
    opened.until("location.hash === ''")
    assert opened.complaints == []
    opened.close()


def test_escape_back_and_close_lead_back_to_the_figure(visit: Visit) -> None:
    tab = visit.page
    link = tab.locator('main a[href^="#case="]').first
    for leave in ("Escape", "back", "close", "beside"):
        link.focus()
        tab.keyboard.press("Enter")
        visit.explained()
        # One further address deep: a metric of the same case.
        tab.evaluate("document.querySelector('#drawer details').open = true")
        tab.locator("#drawer details a").first.click()
        visit.explained()
        if leave == "Escape":
            tab.keyboard.press("Escape")
        elif leave == "close":
            tab.click("#drawer-close")
        elif leave == "beside":
            tab.mouse.click(5, 400)
        else:
            tab.go_back()
            visit.explained()
            tab.go_back()
        tab.wait_for_selector("#drawer:not([open])", state="attached")
        visit.until("location.hash === ''")
        assert tab.evaluate("document.activeElement.getAttribute('href')") == link.get_attribute("href")


def test_the_timeline_zooms_moves_and_can_be_saved(visit: Visit, headline_run: Run) -> None:
    case = of(headline_run, "gemm", "trn1.2xlarge")
    visit.follow(figure_of(0, case, "busy"))
    visit.explained()
    tab = visit.page
    ends = tab.locator("#drawer .timeline > text")
    assert ends.last.text_content() == numbers.show(case.time_s, "s")
    tab.focus("#drawer .timeline")
    tab.keyboard.press("+")
    assert ends.last.text_content() != numbers.show(case.time_s, "s")
    mark = "document.querySelectorAll('#drawer .timeline {}')"
    edge = f"[...{mark}].map((one) => one.getBoundingClientRect().{{}})"
    bars, names = edge.format(".busy", "left"), edge.format("g text", "right")
    for _ in range(4):  # zoomed and moved, no bar reaches over a name
        assert tab.evaluate(f"Math.min(...{bars}) >= Math.max(...{names})")
        tab.keyboard.press("+")
    for _ in range(4):
        tab.keyboard.press("-")
    tab.keyboard.press("+")
    tab.keyboard.press("ArrowRight")
    assert "tensor" in tab.inner_text("#why-timeline [role=status]")
    tab.keyboard.press("Home")
    for _ in range(20):  # to the middle, where products are at work
        tab.keyboard.press("ArrowRight")
    place, text, seconds = case.detail["lines"][int(case.detail["line_strip"]["tensor"][20])]
    assert f"{place} {text[:30]}" in plain(tab.inner_text("#why-timeline [role=status]"))
    row = tab.locator("#why-timeline tbody tr").first.inner_text().split("\t")
    assert row == [place, text, numbers.show(seconds, "s"), numbers.percent(seconds / case.time_s)]
    tab.keyboard.press("Home")
    assert ends.last.text_content() == numbers.show(case.time_s, "s")
    with tab.expect_download() as waiting:
        tab.click("text=Save for Perfetto")
    saved = json.loads(Path(waiting.value.path()).read_text())
    tracks = {each["name"] for each in saved["traceEvents"]}
    assert tracks == set(case.detail["strip"])
    assert saved["otherData"]["case"] == case.id


def test_a_published_point_is_explained_too(visit: Visit, headline_run: Run) -> None:
    point = next(each for each in headline_run.fidelity.points if each.counted)
    visit.follow(f"point={point.id}")
    said = plain(visit.explained())
    assert plain(numbers.show(point.published or 0.0, point.unit)) in said
    assert plain(numbers.error(point.e)) in said
    assert point.source in said
    visit.follow("case=no::such@core")
    visit.until("document.getElementById('drawer-title').textContent === 'Not in this page'")


def test_what_a_kernel_puts_to_the_test_is_said(browser: Any, tmp_path: Path) -> None:
    run = trnbench.bench(["tensor_rows"], instances=["trn2-16.48xlarge"], scopes=["core"])
    path = tmp_path / "tested.html"
    path.write_bytes(page.render([run], BUILT_IN))
    opened = Visit(browser, path)
    opened.follow(figure_of(0, run.measurements[0]).removeprefix("#"))
    said = plain(opened.explained())
    assert "Does a row that takes two 8-bit floats double the array's rate?" in said
    assert "nki-arch-v3, tensor engine, double FP8 mode: two rows of fp8 at once" in said
    assert opened.complaints == []
    opened.close()


def test_without_script_the_page_says_what_prints_the_rest(browser: Any, file: Path) -> None:
    opened = Visit(browser, file, java_script_enabled=False)
    assert opened.page.locator(".deep-hint.plain").count() > 3
    assert opened.page.locator("#cases .plain").inner_text().endswith("trnbench runs show prints the same.")
    assert opened.page.locator("#cases button").is_hidden()
    opened.close()
