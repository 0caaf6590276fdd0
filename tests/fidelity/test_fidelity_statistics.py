"""Error statistics: invariants over random errors, and what each column counts."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from comparison import comparison
from hypothesis import given
from hypothesis import strategies as st
from published_point import published_point

from trnbench.results.fidelity import COUNTED, Bounds, FamilyFidelity, Honesty, Use
from trnbench_fidelity.point import FAMILIES, Usable, vote
from trnbench_fidelity.statistics import (
    bounds_of,
    counted_error,
    crossed,
    errors_of,
    of_votes,
    row_of,
    rows_of,
    time_error,
    worst_first,
)

VALUES = st.floats(min_value=1e-9, max_value=1e15)
RATIOS = st.floats(min_value=1e-3, max_value=1e3)
ROWS = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 30), st.floats(-3, 3)),
    min_size=1,
    max_size=40,
    unique_by=lambda row: row[1],
).map(lambda rows: [(vote, f"p{number}", e) for vote, number, e in rows])


@given(VALUES, RATIOS)
def test_times_and_rates_have_one_error(published: float, ratio: float) -> None:
    time = time_error(published * ratio, published, lower_is_better=True)
    rate = time_error(1 / (published * ratio), 1 / published, lower_is_better=False)
    assert rate == pytest.approx(time, abs=1e-9)
    assert time == pytest.approx(math.log(ratio), abs=1e-9)


@given(VALUES, RATIOS)
def test_too_slow_and_too_fast_are_as_far_off(published: float, ratio: float) -> None:
    slow = time_error(published * ratio, published, lower_is_better=True)
    fast = time_error(published / ratio, published, lower_is_better=True)
    assert slow == pytest.approx(-fast, abs=1e-9)


@pytest.mark.parametrize(("model", "published"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (1.0, float("nan"))])
def test_nothing_is_compared_with_nothing(model: float, published: float) -> None:
    with pytest.raises(ValueError, match="a time or rate is above zero"):
        time_error(model, published, lower_is_better=True)


@given(ROWS, st.randoms(), st.data())
def test_votes_know_no_order_and_no_row_twice(rows: Any, random: object, data: st.DataObject) -> None:
    found = of_votes(rows)
    again = [*rows, data.draw(st.sampled_from(rows))]
    random.shuffle(again)  # type: ignore[attr-defined]
    assert of_votes(again) == found


@given(ROWS)
def test_a_summary_is_ordered(rows: list[tuple[str, str, float]]) -> None:
    found = of_votes(rows)
    sizes = {id: abs(e) for _, id, e in rows}
    assert (found.votes, found.points) == (len({vote for vote, _, _ in rows}), len(rows))
    assert found.worst == max(sizes.values()) == sizes[found.worst_id]
    assert 0 <= found.median <= found.worst
    assert min(e for *_, e in rows) <= found.bias <= max(e for *_, e in rows)
    if found.votes < 5:
        assert found.listed == {id: e for _, id, e in rows}
        assert (found.p90, found.median_span, found.p90_span) == (None, None, None)
    else:
        assert found.listed == {}
        assert found.median <= found.p90 <= found.worst
        assert found.median_span.low <= found.median_span.high <= found.worst
        assert found.median_span.low <= found.p90_span.high


def test_each_span_is_about_its_own_quantile() -> None:
    found = of_votes((f"v{number}", f"p{number}", number / 100) for number in range(101))
    assert (found.median, found.p90) == (0.5, 0.9)
    assert 0.38 < found.median_span.low < 0.47 < 0.53 < found.median_span.high < 0.62
    assert 0.82 < found.p90_span.low < 0.89 < 0.91 < found.p90_span.high < 0.97


@pytest.mark.parametrize(
    ("family", "fields", "voter"),
    [
        ("instruction", {"operation": "exp from SBUF interval"}, "exp from SBUF"),
        ("hbm", {"operation": "read", "shape": {"cores": 2}}, "read / 2 cores"),
        ("hbm", {"operation": "read"}, "read / 1 cores"),
        ("collective", {"operation": "all_reduce"}, "all_reduce / 2 ranks / 1 instances / there"),
        (
            "collective-network",
            {"operation": "all_reduce", "shape": {"ranks": 64, "nodes": 2}},
            "all_reduce / 64 ranks / 2 instances / there",
        ),
        ("dma", {"operation": "copy"}, "copy"),
        ("dma", {}, "op"),
    ],
)
def test_who_votes_is_told_by_what_a_point_is_about(family: str, fields: Any, voter: str) -> None:
    point = published_point(family=family, usable=Usable.DIRECT, source="there", **fields)
    assert vote(point) == f"trn2 / {family} / {voter}"


def test_a_kernel_of_many_rows_has_one_vote() -> None:
    rows = [("many", f"m{number}", 0.1) for number in range(40)]
    rows += [(name, name, 0.5) for name in "abcd"]
    found = of_votes(rows)
    assert (found.votes, found.points, found.median, found.p90) == (5, 44, 0.5, 0.5)


def test_errors_of_one_kernel_are_averaged_by_size_and_the_bias_by_sign() -> None:
    found = of_votes([("a", "one", 0.3), ("a", "two", -0.1)])
    assert (found.median, found.bias) == (pytest.approx(0.2), pytest.approx(0.1))


def test_the_interval_is_the_same_every_time_and_holds_the_statistic() -> None:
    rows = [(f"v{number}", f"p{number}", 0.01 * number**2) for number in range(1, 18)]
    first, second = of_votes(rows), of_votes(rows)
    assert first == second
    assert first.median_span.low < first.median < first.median_span.high
    assert first.p90_span.low < first.p90 <= first.p90_span.high


def test_no_errors_have_no_summary() -> None:
    assert of_votes([]) is None
    assert errors_of([comparison("a")]) is None
    assert bounds_of([comparison("a", 0.3)]) is None


@given(st.floats(-3, 3), st.floats(0.01, 1), st.floats(1, 100))
def test_a_contradicted_point_counts_its_distance_to_the_interval(e: float, low: float, high: float) -> None:
    point = comparison("a", e, use=Use.CONTRADICTED, span=(low, high))
    found = counted_error(point)
    time = math.exp(e)
    expected = math.log(time / low) if time < low else math.log(time / high) if time > high else 0.0
    assert found == pytest.approx(expected, abs=1e-9)


@given(st.floats(-3, 3), st.floats(0.01, 1), st.floats(1, 100))
def test_the_interval_of_rates_is_turned_round(e: float, low: float, high: float) -> None:
    time = comparison("a", e, use=Use.CONTRADICTED, span=(low, high))
    rate = msgspec.structs.replace(time, unit="B/s", emulated=math.exp(-e), span=(1 / high, 1 / low))
    assert counted_error(rate) == pytest.approx(counted_error(time), abs=1e-9)


@given(st.floats(-3, 3))
def test_a_bound_has_an_error_of_one_side(e: float) -> None:
    assert counted_error(comparison("a", e, use=Use.BOUND)) == max(0.0, e)


def test_bounds_are_counted_apart() -> None:
    points = [
        comparison("held", -2.0, use=Use.BOUND),
        comparison("exact", 0.0, use=Use.BOUND),
        comparison("broken", 0.5, use=Use.BOUND),
        comparison("worst", 1.5, use=Use.BOUND),
        comparison("refused", use=Use.NOT_EMULATED),
        comparison("time", 0.1),
    ]
    assert bounds_of(points) == Bounds(count=4, broken=2, worst=1.5, worst_id="worst")
    assert bounds_of(points[:2]) == Bounds(count=2)
    found = errors_of(points)
    assert (found.points, found.worst_id) == (1, "time")


def test_each_column_counts_its_own_points() -> None:
    points = [
        comparison("fitted", 0.1, honesty="fitted", e_cross=0.4),
        comparison("alone", 0.2, honesty="fitted"),
        comparison("shaped", 0.3, honesty="shaped", e_cross=0.3),
        comparison("untouched", -0.5, e_cross=-0.5),
        comparison("disputed", 0.7, use=Use.CONTRADICTED, span=(1.0, 10.0)),
        comparison("ours", 9.0, use=Use.SAME_OPERATION),
        comparison("source", use=Use.NEEDS_SOURCE),
    ]
    row = row_of("hbm", "HBM streams", "trn1", points)
    listed = {
        name: set(found.listed) if (found := getattr(row, name)) else set()
        for name in ("fitted", "cross_validated", "shaped", "untouched")
    }
    assert listed == {
        "fitted": {"fitted", "alone"},
        "cross_validated": {"fitted"},
        "shaped": {"shaped"},
        "untouched": {"untouched", "disputed"},
    }
    assert (row.errors.votes, row.errors.points, row.errors.worst_id) == (5, 5, "untouched")
    assert row.cross_validated.median == 0.4
    assert row.uses == {"emulated": 4, "contradicted": 1, "needs source": 1}
    assert crossed([points[2]]) is None
    assert errors_of(points, Honesty.SHAPED) == row.shaped
    assert set(COUNTED) == {Use.EMULATED, Use.CONTRADICTED}


def test_generations_lend_each_other_nothing() -> None:
    one, other = comparison("one", 0.1), comparison("other", 0.2, generation="trn2")
    rows = rows_of(FAMILIES, [one, other, comparison("none", family="model", use=Use.NOT_USED)])
    assert [(each.name, each.generation) for each in rows] == [
        ("hbm", "trn2"),
        ("hbm", "trn1"),
        ("model", "trn1"),
    ]
    assert rows[1] == row_of("hbm", "HBM streams", "trn1", [one])


@given(st.lists(st.one_of(st.none(), st.floats(min_value=0, max_value=9)), max_size=8))
def test_worst_first(medians: list[float | None]) -> None:
    families = []
    for number, median in enumerate(medians):
        errors = None if median is None else of_votes([("v", "p", median)])
        families.append(FamilyFidelity(name=str(number), title="", generation="g", errors=errors))
    ordered = worst_first(families)
    shown = [each.errors.median for each in ordered if each.errors]
    assert shown == sorted(shown, reverse=True)
    assert all(each.errors is None for each in ordered[len(shown) :])
    assert sorted(each.name for each in ordered) == sorted(each.name for each in families)


def test_rows_and_what_a_point_prints_itself_stand_beside_votes() -> None:
    """A point inside what its sources span counts as 0, and is four times its own figure."""
    plain = [comparison(f"p{n}", 0.1 * n, vote="many") for n in range(5)]
    apart = msgspec.structs.replace(
        comparison("apart", math.log(4)), use=Use.CONTRADICTED, published=1.0, emulated=4.0, span=(1.0, 5.0)
    )
    found = errors_of([*plain, apart])
    assert (found.votes, found.points, found.p90) == (2, 6, None)
    assert found.p90_rows == pytest.approx(0.35)
    assert (found.worst, found.worst_id) == (pytest.approx(0.4), "p4")
    assert (found.worst_raw, found.worst_raw_id) == (pytest.approx(math.log(4)), "apart")
    few = errors_of(plain[:4])
    assert few.p90_rows is None
