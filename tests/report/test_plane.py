"""Drawings: values stand where the scale says, what lies outside is cut, words stay words."""

from __future__ import annotations

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench_reports.charts.plane import Plane, even, logarithmic, row_scale, side_by_side

positive = st.floats(min_value=1e-12, max_value=1e18)


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


@given(high=positive)
def test_even_steps_are_few_and_round(high: float) -> None:
    made = even("x", high, most=5)
    values = [value for value, _ in made.ticks]
    assert 2 <= len(values) <= 6
    assert values[0] == 0
    assert values[-1] <= high * (1 + 1e-6)
    lead = values[1] / 10 ** math.floor(math.log10(values[1]) + 1e-9)
    assert min(abs(lead - each) for each in (1, 2, 5, 10)) < 1e-6


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


def test_drawings_side_by_side_share_one_label() -> None:
    first, second = plane(within=200), plane(within=300)
    root = ElementTree.fromstring(side_by_side([first, second], "both"))
    assert root.get("width") == "500"
    assert [each.get("x") for each in root if each.tag == "svg"] == [str(first.left), str(200 + second.left)]
