"""Cells and rows of the report say the class of the nearest evidence; what has no band is grey and bare."""

from __future__ import annotations

import re

import msgspec
import pytest
from synthetic_run import make_run

from trnbench import Band, Nearest, Nearness, Run, Status
from trnbench_reports import view
from trnbench_reports.sections import scoreboard

BAND = Band(low=-0.1, high=0.2, votes=9, points=9)
NEAR = {
    "gemm": Nearest(kind=Nearness.KERNEL, band=BAND),
    "hbm_copy": Nearest(kind=Nearness.ELSEWHERE, note="nothing of this family is published of trn2"),
    "all_reduce": Nearest(kind=Nearness.NONE, note="nothing of this family is published"),
}
replace = msgspec.structs.replace


@pytest.fixture(scope="module")
def marked() -> Run:
    run = make_run(sizes=2, extra_kernels=0)
    kept = [each for each in run.measurements if each.case.kernel in NEAR and each.status is Status.OK]
    assert {each.case.kernel for each in kept} == set(NEAR)
    return replace(
        run,
        measurements=tuple(
            replace(each, evidence=replace(each.evidence, nearest=NEAR[each.case.kernel])) for each in kept
        ),
    )


def test_a_cell_has_the_class_and_the_interval_of_its_share(marked: Run) -> None:
    page = str(scoreboard.render([marked]))
    told = [(each, re.search(r'<small class="near">(.*?)</small>', each)) for each in page.split("<td ")[1:]]
    cells = [(each.partition(">")[0], re.sub(r"</?span>", "", near[1])) for each, near in told if near]
    said = {near.partition(" ")[0] for _, near in cells}
    assert said == {"kernel", "elsewhere", "none"}
    for style, near in cells:
        kind, _, interval = near.partition(" ")
        assert ("faint" in style) is (kind != "kernel")
        assert bool(interval) is (kind == "kernel")
        if interval:
            assert re.fullmatch(r"[\d.]+–[\d.]+\s%", interval)


def test_the_tooltip_says_the_same(marked: Run) -> None:
    for each in marked.measurements:
        said = view.tooltip(each)
        kind = NEAR[each.case.kernel].kind
        assert f"nearest evidence: {kind}" in said
        assert ("expect " in said) is kind.banded


def test_a_number_stored_without_is_grey_and_says_so(marked: Run) -> None:
    each = marked.measurements[0]
    bare = replace(each, evidence=replace(each.evidence, nearest=None))
    assert view.near_text(bare) == "nearness not recorded"
    assert view.faint(bare)
    assert view.expect_text(bare) == view.expect_share(bare) == ""


@pytest.mark.parametrize("blank", [" ", "\u00a0"])
def test_a_range_has_its_unit_once_whichever_blank_parts_it(blank: str) -> None:
    assert view.ranged(f"63.0{blank}%", f"82.1{blank}%") == f"63.0–82.1{blank}%"
    assert view.ranged(f"850{blank}GB/s", f"1.2{blank}TB/s") == f"850{blank}GB/s–1.2{blank}TB/s"
