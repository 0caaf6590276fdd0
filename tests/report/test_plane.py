"""Drawings: values stand where the scale says, and what is drawn of links."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import msgspec
import pytest
from headline_parts import best_published, changed, kept, near
from hypothesis import given
from hypothesis import strategies as st
from synthetic_run import make_run
from whole_page import plain

from trnbench import Nearness, Run
from trnbench_reports import numbers, view
from trnbench_reports.charts import busbw, gains
from trnbench_reports.charts.figure import Plane, Scale, linear, logarithmic, row_scale
from trnbench_reports.sections import links

positive = st.floats(min_value=1e-12, max_value=1e18)


def even(title: str, high: float) -> Scale:
    return linear(title, 0.0, high, [(0.0, "0"), (high, f"{high:g}")])


def plane(**more: int) -> Plane:
    return Plane(logarithmic("size", 1, 1000), even("share", 10.0), **more)


def test_values_stand_where_the_axes_say() -> None:
    made = plane(width=300, height=100)
    assert [made.px(value) for value in (1, 10, 100, 1000)] == pytest.approx([0, 100, 200, 300])
    assert [made.py(value) for value in (0, 5, 10)] == pytest.approx([100, 50, 0])


def test_rows_go_from_top_to_bottom() -> None:
    made = Plane(even("time", 4.0), row_scale(["first", "second"]), height=48)
    assert [made.py(0.5), made.py(1.5)] == pytest.approx([12, 36])
    assert made.svg("l").index("first") < made.svg("l").index("second")


@given(low=positive, factor=st.floats(min_value=1.5, max_value=1e9), base=st.sampled_from([2, 10]))
def test_ticks_of_a_logarithmic_axis_are_powers_inside_it(low: float, factor: float, base: int) -> None:
    made = logarithmic("x", low, low * factor, base=base, most=8)
    assert len(made.ticks) <= 9
    if base == 10 and factor < 1000:
        return  # few decades: ticks at 1, 2 and 5
    for value, label in made.ticks:
        assert -1e-6 <= made.share(value) <= 1 + 1e-6
        assert math.log(value, base) == pytest.approx(round(math.log(value, base)), abs=1e-6)
        assert label


def test_within_a_decade_there_are_finer_ticks() -> None:
    assert [value for value, _ in logarithmic("x", 1.5, 60).ticks] == [2, 5, 10, 20, 50]


def test_a_drawing_is_one_tree_with_its_label() -> None:
    made = plane()
    made.line([(1, 0), (1000, 10)], series=2)
    made.mark(10, 5, colour="var(--g1)", says="5 of 10 <b>", anchor="c0123456789", series=2, shape=3)
    made.words(10, 5, "a & b", anchor="end", bold=True, turn=-30)
    root = ElementTree.fromstring(made.svg('a "label"'))
    assert (root.get("role"), root.get("tabindex"), root.get("aria-label")) == ("img", "0", 'a "label"')
    (mark,) = root.iter("use")
    assert (mark.get("href"), mark.get("data-id"), mark.get("data-s")) == ("#k3", "c0123456789", "2")
    assert [each.text for each in mark] == ["5 of 10 <b>"]
    assert "a & b" in [each.text for each in root.iter("text")]
    assert "style" not in {name for each in root.iter() for name in each.attrib}


def test_what_lies_outside_is_cut_by_an_inner_frame() -> None:
    made = plane(width=300, height=100)
    made.line([(0.001, -50), (1e6, 500)])
    root = ElementTree.fromstring(made.svg("l"))
    (frame,) = root.iter("svg") if root.tag != "svg" else [each for each in root if each.tag == "svg"]
    assert (frame.get("width"), frame.get("height")) == ("300", "100")
    assert [each.get("class") for each in frame] == ["line"]


def test_labels_never_touch() -> None:
    narrow = Plane(logarithmic("x", 1, 1e8, "B/s"), even("y", 1.0), width=120)
    kept = narrow._apart([(narrow.px(value), label) for value, label in narrow.x.ticks])
    for (left, text), (right, _) in pairwise(kept):
        assert right - left >= 6 * len(text)


# The links, one kind of ranks at a time: what is drawn together, and every number of the table.


replace = msgspec.structs.replace


@pytest.fixture(scope="module")
def small() -> Run:
    return make_run(sizes=4, extra_kernels=0)


def test_kinds_of_ranks_are_never_drawn_together(small: Run) -> None:
    found = links.kinds(small)
    assert list(found) == [("logical-core ranks", "busbw_bytes_per_s"), ("device ranks", "busbw_bytes_per_s")]
    for (ranks, metric), cases in found.items():
        assert {view.rank_kind(each) for each in cases} == {ranks}
        assert {each.primary for each in cases} == {metric}


def test_each_kind_has_a_panel_and_one_is_shown_without_a_script(small: Run) -> None:
    text = links.render([small])
    assert text.count('class="panel p') == 2
    assert text.count('type="radio"') == 2
    assert text.count(" checked") == 1
    assert "logical-core ranks" in text


def test_the_bound_the_best_algorithm_and_what_is_published(small: Run) -> None:
    case = next(each for each in small.measurements if each.case.kernel == "all_reduce" and each.time_s)
    metric = case.metrics[case.primary]
    best = best_published(Nearness.SAME, 1e9, metric=case.primary, unit="B/s")
    nearest = near(Nearness.SAME, best=best)
    point = links.point(replace(case, evidence=replace(case.evidence, nearest=nearest)))
    assert point.rate == metric.value
    assert point.bound == pytest.approx(metric.value / 0.6)
    assert (point.best, point.best_name) == (pytest.approx(metric.value / 0.8), "mesh")
    assert point.published == 1e9
    other = replace(nearest, best=replace(best, kind=Nearness.KERNEL))
    assert links.point(replace(case, evidence=replace(case.evidence, nearest=other))).published == 0.0


def test_the_table_says_what_is_left_of_document_and_links(small: Run) -> None:
    text = plain(links.render([small]))
    largest = [
        each
        for each in small.measurements
        if each.case.kernel == "all_reduce" and each.case.point["size"] == 2**22 and each.judgement
    ]
    assert len(largest) == sum(each.devices > 1 for each in small.systems.values())
    for each in largest:
        share = numbers.percent(each.judgement.fraction).replace(numbers.NBSP, " ")
        rate = numbers.show(each.metrics[each.primary].value, "B/s").replace(numbers.NBSP, " ")
        assert re.search(rf"{re.escape(each.case.instance)} 4 MiB {re.escape(rate)} E {share} 60\.0 %", text)
    assert "mesh +25.0 %" in text


def test_sizes_too_far_below_the_best_are_counted_and_leave_the_axis(small: Run) -> None:
    case = small.measurements[0]

    def point(size: float, rate: float) -> busbw.Point:
        return busbw.Point(case=case, size=size, rate=rate, best=0, best_name="", bound=0, published=0)

    points = (point(1024, 1e3), point(1 << 20, 1e8), point(1 << 30, 1e9))
    sweep = busbw.Sweep(system="s", colour=0, points=points, promised=2e9, faint=False)
    figure = busbw.draw("id", 0, "title", [sweep], "bus bandwidth")
    assert figure.caption.endswith("not drawn: 1 case below a thousandth of the best")
    assert "2 cases on 1 system" in figure.drawing
    assert ">1 KiB<" not in figure.drawing.replace(numbers.NBSP, " ")
    all_drawn = msgspec.structs.replace(sweep, points=points[1:])
    assert "not drawn" not in busbw.draw("id", 0, "title", [all_drawn], "bus bandwidth").caption


def test_the_chart_of_gains_says_what_counts_as_short() -> None:
    def gain(generation: str, got: float) -> gains.Gain:
        return gains.Gain(
            name="gemm", generation=generation, got=got, promised=2.0, colour=0, anchor="", tooltip=""
        )

    figure = gains.draw("id", [gain("trn2", 1.97), gain("trn3", 1.9)], "device")
    assert figure is not None
    assert figure.title.startswith("One device: 1 of 2 gains stay short")
    assert figure.caption.endswith(f"less than 2{numbers.NBSP}% is no miss")


def test_nothing_without_ranks(small: Run) -> None:
    rest = kept(small, lambda each: each.case.family != "collective")
    assert links.render([rest]) == ""


@pytest.mark.parametrize("odd", [None, 3, "x", ["ring"], {"ring": "fast"}, {"ring": -1.0}])
def test_what_is_stored_in_another_form_counts_as_absent(small: Run, odd: object) -> None:
    bad = changed(small, lambda each: replace(each, detail={**each.detail, "tried_s": odd, "bound_s": odd}))
    text = plain(links.render([bad]))
    assert "mesh" not in text
