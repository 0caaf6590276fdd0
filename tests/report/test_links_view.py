"""The links, one kind of ranks at a time: what is drawn together, and every number of the table."""

from __future__ import annotations

import re

import msgspec
import pytest
from synthetic_run import make_run

from trnbench import Band, BestPublished, Nearest, Nearness, Run
from trnbench_reports import numbers, view
from trnbench_reports.sections import links

replace = msgspec.structs.replace


@pytest.fixture(scope="module")
def small() -> Run:
    return make_run(sizes=4, extra_kernels=0)


def plain(markup: str) -> str:
    text = re.sub(r"<[^>]+>", " ", markup).replace(numbers.NBSP, " ").replace("&amp;", "&")
    return re.sub(r"\s+", " ", text)


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
    best = BestPublished(
        id="p", metric=case.primary, value=1e9, unit="B/s", source="a source", kind=Nearness.SAME
    )
    nearest = Nearest(kind=Nearness.SAME, band=Band(low=-0.1, high=0.1, votes=3, points=3), best=best)
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


def test_nothing_without_ranks(small: Run) -> None:
    rest = tuple(each for each in small.measurements if each.case.family != "collective")
    assert links.render([replace(small, measurements=rest)]) == ""


@pytest.mark.parametrize("odd", [None, 3, "x", ["ring"], {"ring": "fast"}, {"ring": -1.0}])
def test_what_is_stored_in_another_form_counts_as_absent(small: Run, odd: object) -> None:
    bad = tuple(
        replace(each, detail={**each.detail, "tried_s": odd, "bound_s": odd}) for each in small.measurements
    )
    text = plain(links.render([replace(small, measurements=bad)]))
    assert "mesh" not in text
