"""Alpha–beta forms against the literature's costs and lower bounds, and levels against known graphs."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.emulator.fabric.closed_form import FORMS, all_gather, all_reduce, all_to_all, reduce_scatter
from trnbench.emulator.fabric.levels import Level, fabric_of

ALPHA, BETA = 1e-6, 100e9


def _switch(size: int, name: str = "switch") -> Level:
    return Level(name=name, size=size, rate=BETA, link_rate=BETA, latency_s=ALPHA, ring=size - 1)


def _ring(size: int) -> Level:
    return Level(
        name="neuronlink",
        size=size,
        rate=2 * BETA,
        link_rate=BETA,
        latency_s=ALPHA,
        steps=size // 2,
        hops=size * size // 4 / (size - 1),
        wired=True,
        ring=size - 1,
    )


@given(st.integers(2, 64), st.integers(1, 1 << 32))
def test_one_level_is_the_literatures_cost(size: int, amount: int) -> None:
    share = amount * (size - 1) / size
    got = all_reduce([_switch(size)], amount)
    assert got.latency_s == pytest.approx(2 * ALPHA)
    assert got.transfer_s == pytest.approx(2 * share / BETA)
    # Large messages on a ring: the bucket algorithm, both ways round.
    large = reduce_scatter([_ring(size)], 1e12)
    assert large.transfer_s == pytest.approx(1e12 * (size - 1) / size / (2 * BETA))


@given(st.sampled_from([2, 4, 8, 64, 1024]), st.integers(1, 1 << 30))
def test_halving_on_a_network_takes_log_steps(size: int, amount: int) -> None:
    got = all_gather([_switch(size, "efa")], amount)
    assert got.latency_s == pytest.approx(math.log2(size) * ALPHA)
    assert got.transfer_s == pytest.approx(amount * (size - 1) / size / BETA)


@given(
    st.lists(st.tuples(st.integers(2, 16), st.booleans()), min_size=1, max_size=3),
    st.floats(1, 1e12),
    st.sampled_from(sorted(FORMS)),
)
def test_no_collective_beats_its_lower_bound(shape: list[tuple[int, bool]], amount: float, name: str) -> None:
    levels = [_ring(size) if wired else _switch(size) for size, wired in shape]
    ranks = math.prod(size for size, _ in shape)
    factor = {"all_reduce": 2.0, "broadcast": 1.0, "permute": 1.0}.get(name, 1.0)
    share = 1.0 if name in ("broadcast", "permute") else (ranks - 1) / ranks
    everything = sum(level.rate for level in levels)
    cost = FORMS[name](levels, amount)
    least = factor * share * amount / everything
    assert cost.transfer_s >= least * (1 - 1e-9)
    assert cost.latency_s >= min(level.latency_s for level in levels)


@given(
    st.lists(st.tuples(st.integers(2, 16), st.booleans()), min_size=1, max_size=3),
    st.sampled_from(["all_reduce", "all_gather", "broadcast"]),
)
def test_what_a_group_lacks_has_to_enter_it(shape: list[tuple[int, bool]], name: str) -> None:
    """Over the links of that level of all its members together, however clever the algorithm."""
    levels = [_ring(size) if wired else _switch(size) for size, wired in shape]
    got = FORMS[name](levels, 1.0).transfer_s
    members = 1
    for level in levels:
        # Of a broadcast a group without the root lacks all, of a gather what the others bring.
        lacking = 1.0 if name == "broadcast" else (level.size - 1) / level.size
        assert got >= lacking / (members * level.rate) * (1 - 1e-9)
        members *= level.size


def test_a_broadcast_enters_another_host_through_its_adapters(registry: Any) -> None:
    fabric = fabric_of(registry.system("trn1-ultracluster:2"))
    host = 8 * 12.5e9
    assert min(FORMS["broadcast"](order, 1.0).transfer_s for order in fabric.orders) >= 1.0 / host


@given(st.floats(1, 1e10), st.floats(1, 1e10), st.sampled_from(sorted(FORMS)))
def test_more_bytes_take_no_less_time(one: float, other: float, name: str) -> None:
    levels = [_ring(4), _switch(8)]
    small, large = sorted((one, other))
    assert FORMS[name](levels, small).time_s <= FORMS[name](levels, large).time_s * (1 + 1e-12)


def test_an_all_to_all_on_a_torus_reaches_the_bisection_bound(registry: Any) -> None:
    fabric = fabric_of(registry.system("trn2-16.48xlarge"))
    ((level,),) = fabric.orders
    assert (level.size, level.steps, level.wired) == (16, 4, True)
    # 16 devices, half send half of their data across 8 cables each way.
    per_cable = level.link_rate
    bound = 16 / 2 * (1 / 2) / (8 * per_cable)
    assert all_to_all([level], 1.0).transfer_s == pytest.approx(bound)


@pytest.mark.parametrize(
    ("instance", "sizes"),
    [
        ("trn1.32xlarge", {(16,)}),
        ("u-trn2x64", {(16, 4), (4, 16)}),
        ("trn3-gen1-ultraserver", {(32, 2), (2, 32)}),
        ("trn1-ultracluster", {(16, 1875)}),
    ],
)
def test_levels_of_documented_systems(registry: Any, instance: str, sizes: set[tuple[int, ...]]) -> None:
    fabric = fabric_of(registry.system(instance))
    assert {tuple(level.size for level in order) for order in fabric.orders} == sizes
    assert all(math.prod(size) == fabric.ranks for size in sizes)


def test_gen2_has_three_levels(registry: Any) -> None:
    fabric = fabric_of(registry.system("trn3-gen2-ultraserver"))
    shapes = {tuple((level.name, level.size) for level in order) for order in fabric.orders}
    assert (("switch-1", 4), ("switch-2", 18), ("direct", 2)) in shapes
    assert all(math.prod(size for _, size in shape) == 144 for shape in shapes)


def test_a_cluster_costs_the_same_to_build_whatever_its_size(registry: Any) -> None:
    small = fabric_of(registry.system("trn1-ultracluster:4"))
    large = fabric_of(registry.system("trn1-ultracluster"))
    assert len(small.topology.nodes) == len(large.topology.nodes)
    assert (small.ranks, large.ranks) == (64, 30_000)
    one = fabric_of(registry.system("trn1-ultracluster:1"))
    assert one.ranks == 16
