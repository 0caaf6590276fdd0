"""What a band lets one expect, and that a number without one has no interval."""

from __future__ import annotations

import math

import msgspec
import pytest
import tiny_machine as tiny
from hypothesis import given
from hypothesis import strategies as st

from trnbench import Band, Measurement, Nearest, Nearness, Status, expected, expected_time, grey, nearness_of
from trnbench.results.expectation import NOT_RECORDED
from trnbench.run.execute import execute
from trnbench.run.plan import plan

BAND = Band(low=-0.2, high=0.1, votes=9, points=20)


@pytest.fixture(scope="module")
def cases() -> dict[str, Measurement]:
    registry = tiny.registry("half", "crash", "unsupported")
    run = execute(plan(registry), registry.backends["emulated"], registry)
    return {str(each.case.point["mode"]): each for each in run.measurements}


def with_nearest(case: Measurement, nearest: Nearest | None) -> Measurement:
    return msgspec.structs.replace(case, evidence=msgspec.structs.replace(case.evidence, nearest=nearest))


def test_a_rate_is_expected_where_its_time_is(cases: dict[str, Measurement]) -> None:
    case = with_nearest(cases["half"], Nearest(kind=Nearness.KERNEL, band=BAND))
    assert case.time_s is not None
    low, high = expected_time(case.evidence, case.time_s) or (0.0, 0.0)
    assert low == pytest.approx(case.time_s * math.exp(-0.1))
    assert high == pytest.approx(case.time_s * math.exp(0.2))
    least, most = expected(case) or (0.0, 0.0)
    value = case.metrics[case.primary].value
    assert least == pytest.approx(value * math.exp(-0.2))
    assert most == pytest.approx(value * math.exp(0.1))
    assert (nearness_of(case), grey(case)) == ("kernel", False)


@given(st.floats(min_value=-2, max_value=2), st.floats(min_value=0, max_value=2))
def test_no_rate_is_expected_beyond_the_clocks(low: float, width: float) -> None:
    registry = tiny.registry("half")
    (case,) = _run(registry)
    judged = case.judgement
    assert judged is not None
    case = msgspec.structs.replace(case, judgement=msgspec.structs.replace(judged, of_engine_bound=0.9))
    band = Band(low=low, high=low + width, votes=9, points=9)
    found = expected(with_nearest(case, Nearest(kind=Nearness.SAME, band=band)))
    assert found[0] <= found[1] <= case.metrics[case.primary].value / 0.9 * (1 + 1e-12)


_RUNS: list[tuple[Measurement, ...]] = []


def _run(registry: object) -> tuple[Measurement, ...]:
    if not _RUNS:
        made = tiny.registry("half")
        _RUNS.append(execute(plan(made), made.backends["emulated"], made).measurements)
    return _RUNS[0]


@pytest.mark.parametrize("kind", [Nearness.ELSEWHERE, Nearness.NONE])
def test_without_a_band_there_is_no_interval(kind: Nearness, cases: dict[str, Measurement]) -> None:
    case = with_nearest(cases["half"], Nearest(kind=kind, note="nothing is published"))
    assert expected(case) is None
    assert expected_time(case.evidence, case.time_s) is None
    assert (nearness_of(case), grey(case)) == (str(kind), True)


def test_a_number_stored_without_says_so(cases: dict[str, Measurement]) -> None:
    case = with_nearest(cases["half"], None)
    assert (nearness_of(case), grey(case), expected(case)) == (NOT_RECORDED, True, None)


def test_what_has_no_number_has_no_class(cases: dict[str, Measurement]) -> None:
    for mode, status in (("crash", Status.FAILED), ("unsupported", Status.SKIPPED)):
        assert cases[mode].status is status
        assert (nearness_of(cases[mode]), grey(cases[mode])) == ("", False)
