"""Max–min fairness: textbook cases and its defining properties."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench_emulator.fabric.maxmin import Usage, fair_shares


def rows(*flows: dict[int, float]) -> Usage:
    return Usage.stack([(np.array(list(f), dtype=np.intp), np.array(list(f.values()))) for f in flows])


def test_three_flows_two_links() -> None:
    # Flow 0 crosses both links; link 1 has room for 1 only: 0.5 each there, the rest of link 0 goes on.
    rates, full = fair_shares(rows({0: 1.0, 1: 1.0}, {0: 1.0}, {1: 1.0}), np.array([10.0, 1.0]), 3)
    assert rates.tolist() == [0.5, 9.5, 0.5]
    assert full.tolist() == [True, True]


def test_a_split_flow_takes_a_share_of_each_route() -> None:
    rates, _ = fair_shares(rows({0: 0.5, 1: 0.5}), np.array([1.0, 1.0]), 1)
    assert rates.tolist() == [2.0]


def test_a_flow_over_no_link_is_not_limited() -> None:
    rates, full = fair_shares(rows({0: 1.0}), np.array([4.0, 1.0]), 2)
    assert rates.tolist() == [4.0, np.inf]
    assert full.tolist() == [True, False]


flows_strategy = st.lists(
    st.dictionaries(st.integers(0, 5), st.floats(0.1, 2.0), min_size=1, max_size=4), min_size=1, max_size=12
)
capacities = st.lists(st.floats(0.5, 100.0), min_size=6, max_size=6)


@settings(max_examples=150, deadline=None)
@given(flows_strategy, capacities)
def test_no_link_is_overfull_and_every_flow_meets_a_full_link(
    flows: list[dict[int, float]], caps: list[float]
) -> None:
    capacity = np.array(caps)
    rates, full = fair_shares(rows(*flows), capacity, len(flows))
    load = np.zeros(6)
    for rate, flow in zip(rates, flows, strict=True):
        for resource, weight in flow.items():
            load[resource] += rate * weight
    assert (load <= capacity * (1 + 1e-9)).all()
    assert (load[full] >= capacity[full] * (1 - 1e-9)).all()
    for rate, flow in zip(rates, flows, strict=True):
        bottlenecks = [r for r in flow if load[r] >= capacity[r] * (1 - 1e-9)]
        # On some full link no other flow is faster: nobody can gain without a slower one losing.
        assert any(
            all(rates[j] <= rate * (1 + 1e-9) for j, other in enumerate(flows) if r in other)
            for r in bottlenecks
        )


@settings(max_examples=60, deadline=None)
@given(flows_strategy, capacities, st.floats(1.0, 5.0))
def test_rates_scale_with_the_links(flows: list[dict[int, float]], caps: list[float], by: float) -> None:
    once, _ = fair_shares(rows(*flows), np.array(caps), len(flows))
    more, _ = fair_shares(rows(*flows), np.array(caps) * by, len(flows))
    assert np.allclose(more, once * by, rtol=1e-9)
