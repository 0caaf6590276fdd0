"""A page of two runs: each row has both, and what changed."""

from __future__ import annotations

import re

import msgspec
import pytest
from synthetic_run import make_run

from trnbench import Run
from trnbench_reports.sections import scoreboard
from trnbench_reports.sections.scoreboard import beside
from trnbench_reports.view import figure_by_id

replace = msgspec.structs.replace


@pytest.fixture(scope="module")
def pair() -> tuple[Run, Run]:
    """The second takes 10 % longer for its products, and has no copies."""
    first = make_run(sizes=2, extra_kernels=0)
    later = tuple(
        replace(each, time_s=each.time_s * 1.1) if each.time_s and each.case.kernel == "gemm" else each
        for each in first.measurements
        if each.case.kernel != "hbm_copy"
    )
    return first, replace(first, id="later", measurements=later)


def test_each_row_names_the_other_run(pair: tuple[Run, Run]) -> None:
    found = beside(pair)
    (one, two) = (run.measurements[0] for run in pair)
    assert one.case.kernel == "gemm"
    assert found[0, one.id].change == found[1, two.id].change == "+10.0 % (exact), slower"
    assert found[0, one.id].anchor == figure_by_id(1, two.id, "share")
    assert found[1, two.id].anchor == figure_by_id(0, one.id, "share")
    same = next(each for each in pair[0].measurements if each.case.kernel == "hbm_read")
    assert found[0, same.id].change == "the same"
    assert not any(
        key[1] == each.id for key in found for each in pair[0].measurements if each.case.kernel == "hbm_copy"
    )


def test_the_board_says_it_below_the_number(pair: tuple[Run, Run]) -> None:
    page = str(scoreboard.render(pair))
    assert re.search(
        r"other run <a href=\"#case=[^\"]+\">[^<]+</a>: \+10\.0 % \(exact\), slower</small>", page
    )


@pytest.mark.parametrize("count", [1, 3])
def test_one_run_or_three_have_nothing_beside_them(pair: tuple[Run, Run], count: int) -> None:
    runs = [replace(pair[0], id=str(number)) for number in range(count)]
    assert beside(runs) == {}
    assert "other run" not in str(scoreboard.render(runs))


def test_runs_with_nothing_in_common(pair: tuple[Run, Run]) -> None:
    first, second = pair
    assert beside([first, replace(second, measurements=())]) == {}
