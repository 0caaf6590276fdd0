"""Flows in time: sharing, waiting, repetition."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from fabric_question import flow_by_flow
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench_emulator import TICKS_PER_SECOND, ticks
from trnbench_emulator.fabric.algorithms import ALGORITHMS
from trnbench_emulator.fabric.flow import Flow, Together
from trnbench_emulator.fabric.fluid import Outcome, simulate
from trnbench_emulator.fabric.maxmin import Usage, fair_shares
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.rates import Rates
from trnbench_emulator.fabric.schedule import Move, Schedule, Step
from trnbench_emulator.fabric.solve import solve


def flow(size: float, *resources: int, **rest: object) -> Flow:
    return Flow(size, np.array(resources, dtype=np.intp), np.ones(len(resources)), **rest)  # type: ignore[arg-type]


def alone(capacity: float, *flows: Flow) -> Outcome:
    """Of two resources alike."""
    return simulate(Together(flows), Rates(np.array([capacity, capacity])))


def test_a_flow_takes_its_bytes_over_the_bandwidth_plus_latency() -> None:
    outcome = alone(50.0, flow(100.0, 0, latency=7, before=3))
    assert outcome.total == 2 * TICKS_PER_SECOND + 10


def test_the_longer_flow_speeds_up_when_the_shorter_one_ends() -> None:
    # Both share 10 B/s: the short one ends after 2 s; the other then has 10 bytes left at 10 B/s.
    outcome = alone(10.0, flow(10.0, 0), flow(20.0, 0))
    assert [a / TICKS_PER_SECOND for a in outcome.arrival] == [2.0, 3.0]


def test_a_flow_waits_for_what_it_needs() -> None:
    outcome = alone(10.0, flow(10.0, 0, latency=5), flow(10.0, 1, after=(0,), before=2))
    assert outcome.arrival == [TICKS_PER_SECOND + 5, 2 * TICKS_PER_SECOND + 7]


def test_nothing_to_carry_still_takes_the_latency() -> None:
    assert alone(1.0, flow(0.0, 0, latency=9)).total == 9


def test_a_flow_that_can_never_end_is_an_error() -> None:
    with pytest.raises(ValueError, match="1 flows can never end: a link without bandwidth, or a circle"):
        alone(0.0, flow(1.0, 0))


def test_half_ticks_round_up_whichever_way_the_last_bit_falls() -> None:
    half = 1.5 / TICKS_PER_SECOND
    assert {ticks(half), ticks(np.nextafter(half, 0)), ticks(np.nextafter(half, 1))} == {2}


# Max–min fairness: textbook cases and its defining properties ----------------------------------------


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


@settings(max_examples=150)
@given(flows_strategy, capacities)
def test_no_link_is_overfull_and_every_flow_meets_a_full_link(flows: Any, caps: list[float]) -> None:
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


@settings(max_examples=60)
@given(flows_strategy, capacities, st.floats(1.0, 5.0))
def test_rates_scale_with_the_links(flows: list[dict[int, float]], caps: list[float], by: float) -> None:
    once, _ = fair_shares(rows(*flows), np.array(caps), len(flows))
    more, _ = fair_shares(rows(*flows), np.array(caps) * by, len(flows))
    assert np.allclose(more, once * by, rtol=1e-9)


# What a network keeps between messages changes no answer ---------------------------------------------

SIZES = (2.0**10, 2.0**24, 2.0**30)


def test_a_used_network_answers_like_a_new_one(torus: Callable[..., Network]) -> None:
    used = torus(4, 4)
    for name in ("ring", "rdh", "mesh", "tree"):
        for size in SIZES:
            again = flow_by_flow(used, ALGORITHMS[name].schedule(used, "all_reduce", size))
            new = torus(4, 4)
            once = flow_by_flow(new, ALGORITHMS[name].schedule(new, "all_reduce", size))
            assert again.total_ticks == once.total_ticks


def test_free_memory_keeps_no_rates_of_memory_that_is_not(torus: Callable[..., Network]) -> None:
    plain = torus(4, 4)
    bound = Network(plain.topology, memory=1e9)
    schedule = ALGORITHMS["rdh"].schedule(bound, "all_reduce", 2.0**28)
    slow = solve(bound, schedule)
    free = solve(bound.with_free_memory, schedule)
    assert free.total_ticks == solve(plain, schedule).total_ticks
    assert slow.total_ticks > 5 * free.total_ticks


def test_rates_do_not_depend_on_what_was_asked_before() -> None:
    """Shares that add up differently in another order: a third, a tenth and a seventh of one link."""
    flows = [Flow(1.0, np.zeros(1, np.intp), np.array([share])) for share in (1 / 3, 0.1, 1 / 7)]
    capacity = np.array([1e9])

    def asked(order: tuple[int, ...]) -> dict[int, float]:
        rates = Rates(capacity)
        mixes = {number: rates.name(flows[number]) for number in order}
        found, _ = rates.of(tuple(mixes[number] for number in order))
        return dict(zip(order, found, strict=True))

    first = asked((0, 1, 2))
    assert all(asked(order) == first for order in permutations(range(3)))


@given(st.data())
def test_some_of_many_share_links_as_if_they_were_all(data: st.DataObject) -> None:
    capacity = np.array([7.0, 11.0, 13.0, 17.0])
    links = st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True).map(sorted)
    sides = data.draw(st.lists(links, min_size=1, max_size=9, unique_by=tuple))
    rates = Rates(capacity, np.array([False, True, False, True]))
    mixes = tuple(rates.name(Flow(1.0, np.array(side), np.full(len(side), 1 / len(side)))) for side in sides)
    active = np.array(data.draw(st.lists(st.booleans(), min_size=len(mixes), max_size=len(mixes))))
    if active.any():
        shares, limited = rates.among(mixes).of(active)
        alone = rates.of(tuple(mix for mix, taken in zip(mixes, active, strict=True) if taken))
        assert (shares[active].tolist(), limited) == alone


def test_equal_mixes_are_one_however_often_they_are_made() -> None:
    rates = Rates(np.array([90.0, 50.0]))
    one, same = (Flow(1.0, np.arange(2), np.array([1.0, 0.5])) for _ in range(2))
    other = Flow(1.0, np.arange(1), np.array([1.0]))
    assert rates.name(one) == rates.name(same) != rates.name(other)
    # All three share the first resource; the second is not full.
    assert rates.of((rates.name(one), rates.name(other), rates.name(same))) == ([30.0] * 3, False)


# A rhythm is only one where all flows keep it at the same time: else they have yet to meet -----------

TIMES = 200
SIZE = 1e6


def two_streams(later: float, repeated: tuple[int, ...]) -> Schedule:
    """From rank 0 to rank 1 twice, message by message; the second stream after `later` bytes to rank 7.

    `repeated`: how often each of the equal steps is done that make up a stream.
    """
    messages = tuple(Step(moves=(Move(size=SIZE, pairs=((0, 1),)),), times=times) for times in repeated)
    before = Step(moves=(Move(size=later, pairs=((0, 7),)),))
    return Schedule(algorithm="two streams", chains=(messages, (before, *messages)))


@pytest.mark.parametrize("messages", [0, 10, 100, 150, 300])
def test_streams_that_meet_after_each_found_its_own_rhythm_share_the_link(torus: Any, messages: int) -> None:
    """Whether it is told as one long step or as many short ones, none of which is looked at for a rhythm."""
    later = max(messages * SIZE, 1.0)
    network = torus(8)
    long = solve(network, two_streams(later, (TIMES,)))
    short = solve(network, two_streams(later, (50,) * (TIMES // 50)))
    assert long.total_ticks == pytest.approx(short.total_ticks, rel=1e-9)
    assert long.ends == pytest.approx(short.ends, rel=1e-9)
