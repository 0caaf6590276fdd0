"""Above the peak: which verdict, and which mistake most likely explains it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench import Direction, Grade, Peak, PeakChoice, PeakPolicy, Scope, Status
from trnbench.run.guard import TOLERANCE, Circumstances, rank_causes, weigh


def around(**changes: Any) -> Circumstances:
    fields: dict[str, Any] = {
        "unit": "FLOP/s",
        "scope": Scope.CORE,
        "direction": Direction.NONE,
        "grade": Grade.MEASURED,
        "clock": "device",
        "cores": 1,
        "cores_per_device": 8,
        "devices": 16,
    }
    return Circumstances(**{**fields, **changes})


def choice(documented: float, bound: float | None) -> PeakChoice:
    def peak(value: float) -> Peak:
        return Peak(metric="peak_flops", value=value, scope=Scope.CORE)

    return PeakChoice(
        policy=PeakPolicy.SEED, chosen=peak(documented), engine_bound=None if bound is None else peak(bound)
    )


@pytest.mark.parametrize(
    ("ratio", "changes", "first"),
    [
        (1.0737, {"unit": "B/s"}, "GiB counted as GB (factor 1.074): undone, 99.9 % remain"),
        (
            1.99,
            {"unit": "B/s", "direction": Direction.ONE_WAY, "scope": Scope.DEVICE},
            "both directions counted against one (factor 2): undone, 99.5 % remain",
        ),
        (8.0, {}, "a whole device counted as one core (factor 8): undone, 100.0 % remain"),
        (
            7.6,
            {"cores_per_device": 8},
            "a whole device counted as one core (factor 8): undone, 95.0 % remain",
        ),
        (1.9, {}, "LNC=2: two physical cores counted as one (factor 2): undone, 95.0 % remain"),
        (
            15.5,
            {"scope": Scope.DEVICE, "cores": 8},
            "the whole system counted as one device (factor 16): undone, 96.9 % remain",
        ),
        (
            3.9,
            {"other_dtype_ratios": (("bf16", 4.0),)},
            "computed in bf16, not in the type named (factor 4): undone, 97.5 % remain",
        ),
        (
            6.0,
            {"unit": "B/s", "working_set_bytes": 1e6, "cache_bytes": 24e6, "cores_per_device": 1},
            "the data stayed in on-chip memory (cache-resident)",
        ),
        (500.0, {"clock": "host"}, "the timer stopped before the device had finished (asynchronous)"),
        (
            500.0,
            {"grade": Grade.EMULATED, "clock": "model"},
            "the model charges this case less than the clocks do",
        ),
    ],
)
def test_the_ratio_names_the_mistake(ratio: float, changes: dict[str, Any], first: str) -> None:
    assert rank_causes(ratio, around(**changes))[0] == first


def test_causes_that_cannot_give_the_ratio_are_left_out() -> None:
    causes = rank_causes(3.0, around(unit="B/s", cores_per_device=1, devices=1, direction=Direction.ONE_WAY))
    assert causes == ("the timer stopped before the device had finished (asynchronous)",)


def test_nothing_known_says_so() -> None:
    causes = rank_causes(300.0, around(clock="model", cores_per_device=2, devices=1, scope=Scope.INSTANCE))
    assert causes == ("none of the known mistakes gives this ratio: read the kernel's counts",)


@given(st.floats(1.0011, 1e6))
def test_above_the_bound_is_never_a_pass(ratio: float) -> None:
    verdict = weigh(100.0 * ratio, "higher", choice(90.0, 100.0), around())
    assert verdict.status is Status.SUSPECT
    assert verdict.causes
    assert verdict.of_engine_bound == pytest.approx(ratio)


@given(st.floats(1e-6, 1.0 + TOLERANCE / 2))
def test_within_tolerance_of_the_bound_is_never_suspect(ratio: float) -> None:
    verdict = weigh(100.0 * ratio, "higher", choice(100.0, 100.0), around())
    assert (verdict.status, verdict.causes) == (Status.OK, ())


@pytest.mark.parametrize(
    ("ratio", "status"), [(1.0009, Status.OK), (1.0011, Status.SUSPECT), (1.009, Status.SUSPECT)]
)
def test_a_thousandth_is_rounding(ratio: float, status: Status) -> None:
    assert weigh(100.0 * ratio, "higher", choice(100.0, 100.0), around()).status is status


@pytest.mark.parametrize(("ratio", "explained"), [(8.07, True), (8.09, False)])
def test_a_mistake_explains_up_to_a_hundredth_more_than_the_bound(ratio: float, explained: bool) -> None:
    text = "a whole device counted as one core (factor 8)"
    assert any(each.startswith(text) for each in rank_causes(ratio, around())) is explained


@pytest.mark.parametrize(("ratio", "explained"), [(1.26, True), (1.27, False)])
def test_a_clock_is_boosted_by_a_quarter_at_most(ratio: float, explained: bool) -> None:
    assert ("a clock boosted above the documented one" in rank_causes(ratio, around())) is explained


def test_between_document_and_clocks_the_document_is_low() -> None:
    verdict = weigh(10.07e15, "higher", choice(10.0e15, 10.07e15), around())
    assert verdict.status is Status.DOCUMENT_LOW
    assert verdict.comment == (
        "100.7 % of the documented figure, 100.0 % of what the clocks allow: the document's figure is low "
        "(99.3 % of the clocks')"
    )
    assert verdict.causes == ("the document rounds its figure down, or prints it for a lower clock",)


def test_without_a_bound_it_is_compared_and_says_so() -> None:
    verdict = weigh(110.0, "higher", choice(100.0, None), around(unit="B/s"))
    assert verdict.status is Status.OK
    assert verdict.comment == (
        "110.0 % of the documented figure; no document gives a clock that bounds this figure: "
        "compared, not judged"
    )
    assert verdict.causes
    below = weigh(90.0, "higher", choice(100.0, None), around(unit="B/s"))
    assert below.comment == "no document gives a clock that bounds this figure: compared, not judged"
    assert below.causes == ()


def test_where_less_is_better_the_share_turns_round() -> None:
    assert weigh(2e-6, "lower", choice(1e-6, None), around(unit="s")).fraction == pytest.approx(0.5)
