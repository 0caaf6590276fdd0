"""Ten questions of readers, each answered on the page of a default run by reading or by one click."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from headline_parts import changed, having, replace
from page_visit import Visit
from whole_page import BUILT_IN

from trnbench import Run
from trnbench_reports import page

pytestmark = [pytest.mark.browser, pytest.mark.campaign("default run"), pytest.mark.parts]


def seen(opened: Visit, part: str) -> str:
    return " ".join(str(opened.page.inner_text(part)).replace("\u00a0", " ").split())


def clicked(opened: Visit, link: str) -> str:
    """What the drawer says after a click on `link`."""
    opened.page.click(link)
    return " ".join(opened.explained().replace("\u00a0", " ").split())


def test_what_share_of_667_tflops_and_who_says_667(opened: Visit) -> None:
    card = "#headline .card:nth-of-type(2)"
    assert re.search(r"A Trainium2 device multiplies bf16 at \d+–\d+ of the promised 625", seen(opened, card))
    drawer = clicked(opened, f"{card} .bar3:first-of-type .says span:nth-of-type(3) a")
    assert re.search(r"667 TFLOPS documented policy device Trainium2 Architecture, [\w.]+, 2026", drawer)


def test_which_generation_is_best_per_device_for_attention_of_4k(opened: Visit) -> None:
    row = seen(opened, "#generations tr:has(th:has-text('attention'))")
    assert "seq=4,096" in row
    values = [float(value) for value in re.findall(r"([\d.]+) TFLOPS E", row)]
    assert len(values) == 3
    assert values[2] == max(values)


def test_what_limits_all_reduce_on_one_instance_of_trainium2(opened: Visit) -> None:
    row = seen(opened, "#links .p0 tbody tr:has-text('trn2-16.48xlarge') >> nth=0")
    assert row.startswith("all_reduce")
    assert re.search(r"(endpoint|contention|limit of links|algorithm) \d", row)


def test_what_e_means(opened: Visit) -> None:
    assert "E emulated by a model" in seen(opened, "#scoreboard .key")


def test_how_far_off_a_number_is(opened: Visit) -> None:
    row = "#headline .card:first-of-type .bar3:first-of-type"
    assert re.search(r"\d+–\d+ TFLOPS", seen(opened, row))
    assert re.search(r"published time from [−+]\d+", clicked(opened, f"{row} .says b a"))


def test_what_changed_since_the_run_before(browser: Any, headline_run: Run, tmp_path: Path) -> None:
    case = next(case for case in headline_run.measurements if case.time_s and case.case.kernel == "gemm")
    slower = changed(headline_run, having(time_s=2 * case.time_s), lambda other: other.id == case.id)
    after = replace(slower, id="after")
    path = tmp_path / "page.html"
    path.write_bytes(page.render([after], BUILT_IN, before=headline_run))
    visit = Visit(browser, path)
    text = seen(visit, "#since")
    assert case.id.partition("::")[0] in text
    assert re.search(r"\S+ before, \S+ \S+ now", text)
    visit.close()


def test_which_documents_contradict_each_other(opened: Visit) -> None:
    opened.page.click(".toc a[href='#documents']")
    opened.until("document.getElementById('documents').innerText.includes('2,048')")
    assert "704" in seen(opened, "#documents")


def test_which_kernel_is_slowest_against_its_bound(opened: Visit) -> None:
    first = seen(opened, "#losses .stacked >> nth=0")
    share = re.search(r"At the peak ([\d.]+) %", first)
    rest = re.findall(r"At the peak ([\d.]+) %", seen(opened, "#losses .stacks"))
    assert float(share[1]) == min(map(float, rest))


def test_how_to_repeat_a_number(opened: Visit) -> None:
    drawer = clicked(opened, "#headline .card:first-of-type .bar3:first-of-type .says b a")
    assert re.search(r"Repeat it\b.*trnbench run gemm -i trn1", drawer)


def test_which_numbers_are_measured(opened: Visit) -> None:
    assert "M measured" in seen(opened, "#scoreboard .key")
    assert "emulated by" in seen(opened, "#headline .asked")
    letters = set(re.findall(r" ([MEPDF])\b", seen(opened, "#scoreboard .board tbody")))
    assert letters <= {"E", "F"}
