"""Which numbers of sequences a plan looks at: the most that keep a limit, and those of least cost."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench_steps.plan.batches import largest, least_cost


@given(st.floats(0.01, 1), st.floats(0, 0.1), st.integers(1, 400), st.integers(1, 400), st.integers(0, 400))
def test_the_largest_batch_is_found(start: float, slope: float, limit: int, high: int, jump: int) -> None:
    def share(batch: int) -> float:
        return (start + slope * (batch - 1) + (5.0 if batch > jump else 0.0)) / (start + limit * 0.05)

    if share(1) <= 1:
        kept = [batch for batch in range(1, high + 1) if share(batch) <= 1]
        assert largest(share, 1, high) == max(kept)


@pytest.mark.parametrize(
    ("among", "most", "found"), [((68,), 74, 72), ((), 79, 72), ((), 70, 70), ((1,), 3, 3)]
)
def test_a_batch_below_a_jump_yields_more(among: tuple[int, ...], most: int, found: int) -> None:
    def cost(batch: int) -> tuple[float, float]:
        return (10 + batch + (5 if batch > 72 else 0)) / batch, 0.0

    assert least_cost(cost, among, most) == found


def test_a_batch_far_below_the_most_may_yield_more() -> None:
    """The step of 1,024 takes twice as long as that of 768, and neither is near the 1,836 that fit."""

    def cost(batch: int) -> tuple[float, float]:
        return (10 + batch * (0.12 if batch <= 768 else 0.23)) / batch, 0.0

    assert least_cost(cost, (1, 1836), 1836) == 768


def test_the_fewest_that_do_are_taken_where_instances_are_whole() -> None:
    def cost(batch: int) -> tuple[float, float]:
        return ceil(50 / batch), float(batch)

    assert least_cost(cost, (1, 512), 512, fewest=True) == 50


def test_a_hump_hides_no_larger_batch() -> None:
    """A band is of another class at some batches, and its end further off there."""

    def share(batch: int) -> float:
        return batch / 22 if batch < 5 or batch >= 16 else 1.5

    assert largest(share, 1, 160) == 22


def test_an_odd_number_hides_no_even_one() -> None:
    def share(batch: int) -> float:
        return (batch + (3 if batch % 2 else 0)) / 40

    assert largest(share, 1, 160) == 40
