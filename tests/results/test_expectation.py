"""What a band lets one expect, and what runs of schema 2 said of the model."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
import tiny_machine as tiny
from hypothesis import given
from hypothesis import strategies as st

from trnbench import Band, Measurement, Nearest, Nearness, Status, expected, expected_time, grey, nearness_of
from trnbench.results.expectation import NOT_RECORDED, expected_seconds
from trnbench.results.fidelity import Comparison, Fidelity, Use
from trnbench.results.json import NOTE, old_fidelity
from trnbench.results.measurement import stored_bound

BAND = Band(low=-0.2, high=0.1, votes=9, points=20)


@pytest.fixture(scope="module")
def cases() -> dict[str, Measurement]:
    run = tiny.carried_out("half", "crash", "unsupported")
    return {str(each.case.point["mode"]): each for each in run.measurements}


def with_nearest(case: Measurement, nearest: Nearest | None) -> Measurement:
    return msgspec.structs.replace(case, evidence=msgspec.structs.replace(case.evidence, nearest=nearest))


def test_a_rate_is_expected_where_its_time_is(cases: dict[str, Measurement]) -> None:
    case = with_nearest(cases["half"], Nearest(kind=Nearness.KERNEL, band=BAND))
    low, high = expected_time(case.evidence, case.time_s) or (0.0, 0.0)
    assert low == pytest.approx(case.time_s * math.exp(-0.1))
    assert high == pytest.approx(case.time_s * math.exp(0.2))
    least, most = expected(case) or (0.0, 0.0)
    value = case.metrics[case.primary].value
    assert least == pytest.approx(value * math.exp(-0.2))
    assert most == pytest.approx(value * math.exp(0.1))
    assert (nearness_of(case), grey(case)) == ("kernel", False)


@given(st.floats(min_value=-2, max_value=2), st.floats(min_value=0, max_value=2))
def test_no_rate_is_expected_beyond_the_clocks(
    cases: dict[str, Measurement], low: float, width: float
) -> None:
    judged = msgspec.structs.replace(cases["half"].judgement, of_engine_bound=0.9)
    case = msgspec.structs.replace(cases["half"], judgement=judged)
    band = Band(low=low, high=low + width, votes=9, points=9)
    found = expected(with_nearest(case, Nearest(kind=Nearness.SAME, band=band)))
    assert found[0] <= found[1] <= case.metrics[case.primary].value / 0.9 * (1 + 1e-12)


@pytest.mark.parametrize(
    ("stored", "share"),
    [(0.95, 0.95), (1.2, 1.0), (0.2, 0.8), (0.0, 0.8), (-1.0, 0.8), (float("nan"), 0.8), (float("inf"), 0.8),
     (True, 0.8), ("0.95", 0.8), (None, 0.8)],
)  # fmt: skip
def test_no_time_is_expected_below_the_stored_bound(
    cases: dict[str, Measurement], stored: Any, share: float
) -> None:
    time_s = cases["half"].time_s
    bound = stored * time_s if type(stored) is float else stored
    judged = msgspec.structs.replace(cases["half"].judgement, of_engine_bound=0.8)
    case = msgspec.structs.replace(cases["half"], judgement=judged, detail={"bound_s": bound})
    wide = with_nearest(case, Nearest(kind=Nearness.SAME, band=Band(low=-1.0, high=1.0, votes=9, points=9)))
    low, high = expected_seconds(wide)
    assert (low, high) == (pytest.approx(share * time_s), pytest.approx(math.e * time_s))
    unjudged = msgspec.structs.replace(wide, judgement=None)
    assert expected_seconds(unjudged)[0] == pytest.approx(
        max(stored_bound(unjudged), time_s / math.e) if share < 1.0 else time_s
    )


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


# What runs of schema 2 said of the model opens as it is read today.


POINT = {
    "id": "a",
    "family": "hbm",
    "generation": "trn1",
    "use": "in-sample",
    "quantity": "bandwidth_bytes_per_s",
    "unit": "B/s",
    "published": 100.0,
    "emulated": 80.0,
    "error": -0.2,
    "slower": 0.25,
    "cross_validated": 50.0,
    "held": None,
    "how": "h",
    "source": "s",
    "confidence": "high",
}
SAME = ("id", "family", "generation", "quantity", "unit", "published", "emulated", "how", "source")
ERRORS = {"count": 1, "median": 0.2, "p90": 0.2, "worst": 0.2, "worst_id": "a", "bias": 0.25}
OLD = {
    "by": "model",
    "version": "5",
    "families": [{"name": "hbm", "title": "HBM", "in_sample": 1, "errors": ERRORS, "bounds_held": 0}],
    "points": [POINT, {**POINT, "id": "b", "use": "bound", "unit": "s", "slower": None, "held": True}],
    "public": [{"generation": "trn1", "by": "m", "version": "5", "day": "2026-01-02", "bounds_held": 1}],
    "notes": ["n"],
}


def test_points_keep_their_numbers_and_statistics_are_left_out() -> None:
    found = msgspec.convert(old_fidelity(OLD), Fidelity)
    first, second = found.points
    assert first == Comparison(
        **{name: POINT[name] for name in SAME},
        use=Use.EMULATED,
        vote="a",
        honesty="fitted",
        e=math.log(1.25),
        e_cross=pytest.approx(math.log(2)),
        confidence="high",
    )
    assert (second.use, second.honesty, second.e) == (Use.BOUND, "", None)
    assert (found.families, found.public, found.notes) == ((), (), ("n", NOTE))
    assert (found.by, found.version) == ("model", "5")


def test_held_out_points_are_of_unknown_honesty() -> None:
    found = old_fidelity({**OLD, "points": [{**POINT, "use": "held out"}]})
    assert (found["points"][0]["use"], found["points"][0]["honesty"]) == ("emulated", "")


def test_what_is_of_today_comes_back_as_it_is() -> None:
    today = msgspec.to_builtins(Fidelity(by="m"))
    assert old_fidelity(today) is today
    migrated = old_fidelity(OLD)
    assert old_fidelity(migrated) == migrated
