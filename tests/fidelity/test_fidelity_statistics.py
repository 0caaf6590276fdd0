"""Error statistics: invariants over random errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.fidelity.family import FAMILIES
from trnbench.fidelity.statistics import of_family, relative_error, slower, summarise, worst_first
from trnbench.fidelity.tables import percent, signed
from trnbench.results.fidelity import Comparison, FamilyFidelity, Use

VALUES = st.floats(min_value=1e-9, max_value=1e15)
ERRORS = st.lists(st.floats(min_value=-0.99, max_value=50.0), min_size=1, max_size=40)


@given(VALUES, st.floats(min_value=1e-3, max_value=1e3))
def test_errors_of_times_and_rates_are_one_another(published: float, ratio: float) -> None:
    time = relative_error(published * ratio, published)
    rate = relative_error(1 / (published * ratio), 1 / published)
    assert slower(rate, lower_is_better=False) == pytest.approx(time, rel=1e-6, abs=1e-9)
    assert slower(time, lower_is_better=True) == time


@given(VALUES)
def test_a_right_answer_has_no_error(value: float) -> None:
    assert relative_error(value, value) == 0.0
    assert slower(0.0, lower_is_better=False) == 0.0


@pytest.mark.parametrize("published", [0.0, -1.0, float("nan")])
def test_nothing_is_compared_with_nothing(published: float) -> None:
    with pytest.raises(ValueError, match="a published value is above zero, not"):
        relative_error(1.0, published)


def test_a_rate_of_zero_has_no_time() -> None:
    with pytest.raises(ValueError, match="a rate of zero has no time"):
        slower(-1.0, lower_is_better=False)


@given(ERRORS, st.randoms())
def test_a_summary_is_ordered_and_knows_no_order(errors: list[float], random: object) -> None:
    named = [(f"p{number}", each, each) for number, each in enumerate(errors)]
    found = summarise(named)
    assert found is not None
    assert found.count == len(errors)
    assert 0 <= found.median <= found.p90 <= found.worst == max(map(abs, errors))
    assert min(errors) <= found.bias <= max(errors)
    random.shuffle(named)  # type: ignore[attr-defined]
    assert summarise(named) == found
    assert abs({name: each for name, each, _ in named}[found.worst_id]) == found.worst


def test_no_errors_have_no_summary() -> None:
    assert summarise([]) is None


def comparison(id: str, use: Use, error: float, crossed: float | None = None) -> Comparison:
    return Comparison(
        id=id,
        family="hbm",
        generation="g",
        use=use,
        quantity="latency_s",
        unit="s",
        published=1.0,
        emulated=1.0 + error,
        error=error,
        slower=error,
        cross_validated=crossed,
    )


def test_only_held_out_and_in_sample_points_count() -> None:
    found = of_family(
        FAMILIES["hbm"],
        [
            comparison("a", Use.HELD_OUT, 0.1, 1.1),
            comparison("b", Use.IN_SAMPLE, 0.0),
            comparison("c", Use.IN_SAMPLE, 0.02, 0.7),
            comparison("d", Use.SAME_OPERATION, 9.0, 10.0),
            comparison("e", Use.CONTRADICTED, 9.0),
            comparison("f", Use.BOUND, 9.0),
        ],
    )
    assert found.errors is not None
    assert found.cross_validated is not None
    assert (found.errors.count, found.in_sample, found.errors.worst) == (3, 2, 0.1)
    assert (found.cross_validated.count, found.cross_validated.worst_id) == (2, "c")
    assert found.cross_validated.worst == pytest.approx(0.3)
    assert found.uses == {
        "held out": 1,
        "in-sample": 2,
        "contradicted": 1,
        "bound": 1,
        "same operation": 1,
    }


@given(st.lists(st.one_of(st.none(), st.floats(min_value=0, max_value=9)), max_size=8))
def test_worst_first(medians: list[float | None]) -> None:
    families = []
    for number, median in enumerate(medians):
        errors = None if median is None else summarise([("p", median, median)])
        families.append(FamilyFidelity(name=str(number), title="", errors=errors))
    ordered = worst_first(families)
    shown = [each.errors.median for each in ordered if each.errors]
    assert shown == sorted(shown, reverse=True)
    assert all(each.errors is None for each in ordered[len(shown) :])
    assert sorted(each.name for each in ordered) == sorted(each.name for each in families)


@pytest.mark.parametrize(
    ("error", "plain", "with_sign"),
    [
        (0.0, "0.0 %", "0.0 %"),
        (-0.0004, "-0.0 %", "0.0 %"),
        (0.0123, "1.2 %", "+1.2 %"),
        (-0.0996, "-10 %", "−10 %"),
        (4.507, "451 %", "+451 %"),
    ],
)
def test_how_errors_are_printed(error: float, plain: str, with_sign: str) -> None:
    assert percent(error) == plain
    assert signed(error) == with_sign
