"""Numbers, words, and the class of the nearest evidence: what has no band is grey and bare."""

from __future__ import annotations

import math
import re

import msgspec
import pytest
from headline_parts import changed, judged_by, kept, near
from hypothesis import given
from hypothesis import strategies as st
from synthetic_run import make_run

from trnbench import Nearness, Run, Status
from trnbench_reports import numbers, view
from trnbench_reports.sections import scoreboard

N = numbers.NBSP


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9.996, "10.0"),
        (99.95, "100"),
        (1234567, "1,230,000"),
        (0.012345, "0.0123"),
        (0, "0"),
        (-5.5, "-5.50"),
    ],
)
def test_three_significant_digits(value: float, text: str) -> None:
    assert numbers.significant(value) == text


@given(st.floats(min_value=1e-9, max_value=1e18, allow_nan=False))
def test_significant_stays_within_half_a_digit(value: float) -> None:
    shown = float(numbers.significant(value).replace(",", ""))
    assert math.isclose(shown, value, rel_tol=0.0051)


def test_one_number_with_its_prefix() -> None:
    assert numbers.show(1e16, "FLOP/s") == f"10{N}PFLOPS"
    assert numbers.show(46.4e12, "B/s") == f"46.4{N}TB/s"
    assert numbers.show(math.inf, "B/s") == "inf"


def test_gains() -> None:
    assert [numbers.times(x) for x in (0.874, 2.14, 13.6)] == ["0.87×", "2.1×", "14×"]


def test_units_of_documented_metrics() -> None:
    assert numbers.unit_of("peak_flops") == "FLOP/s"
    assert numbers.unit_of("neuronlink_bandwidth") == "B/s"
    assert numbers.unit_of("device_count") == ""
    assert numbers.unit_of("a metric of a plugin that is gone") == ""


@given(st.text(max_size=60))
def test_clean_text_is_harmless_and_short(text: str) -> None:
    made = numbers.clean(text, 40)
    assert len(made) <= 40
    assert not set(made) & set("\u202e\u200f\x00\x1b")
    made.encode("utf-8")


def test_clean_text_keeps_what_is_fine() -> None:
    assert numbers.clean("µ-kernel “é” 日本 🙂") == "µ-kernel “é” 日本 🙂"


def test_lists_in_prose() -> None:
    assert numbers.listed([]) == ""
    assert numbers.listed(["a"]) == "a"
    assert numbers.listed(["a", "b", "c"]) == "a, b and c"


def test_how_often_a_second_has_a_prefix_and_three_digits() -> None:
    assert numbers.show(4_306_688.0, "1/s") == "4.31\u00a0M/s"
    assert numbers.show(12.0, "1/s") == "12.0\u00a0/s"


# Cells and rows of the report say the class of the nearest evidence; what has no band is grey and bare.


NEAR = {
    "gemm": near(Nearness.KERNEL),
    "hbm_copy": near(Nearness.ELSEWHERE, note="nothing of this family is published of trn2"),
    "all_reduce": near(Nearness.NONE, note="nothing of this family is published"),
}
replace = msgspec.structs.replace


@pytest.fixture(scope="module")
def marked() -> Run:
    run = make_run(sizes=2, extra_kernels=0)
    known = kept(run, lambda each: each.case.kernel in NEAR and each.status is Status.OK)
    assert {each.case.kernel for each in known.measurements} == set(NEAR)
    return changed(known, lambda each: judged_by(NEAR[each.case.kernel])(each))


def test_a_cell_has_the_class_and_the_interval_of_its_share(marked: Run) -> None:
    page = str(scoreboard.render([marked]))
    told = [(each, re.search(r'<small class="near">(.*?)</small>', each)) for each in page.split("<td ")[1:]]
    cells = [(each.partition(">")[0], re.sub(r"</?span>", "", found[1])) for each, found in told if found]
    said = {words.partition(" ")[0] for _, words in cells}
    assert said == {"kernel", "elsewhere", "none"}
    for style, words in cells:
        kind, _, interval = words.partition(" ")
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
