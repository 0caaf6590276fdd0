"""Every algorithm: right data, the literature's cost, the bounds, and symmetry's exactness."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaigns import sweep
from fabric_question import flow_by_flow
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import messages

from trnbench.registry import Registry
from trnbench_emulator.fabric.algorithms import ALGORITHMS
from trnbench_emulator.fabric.algorithms.algorithm import Algorithm, NotPossible
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.solve import busy_ticks, solve
from trnbench_emulator.fabric.systems import Fabric, Options

B, A = 128e9, 1e-6  # link figures of the test networks: bytes/s per direction, seconds per hop
TICK = 1e-12
Make = Callable[..., Network]
Check = Callable[[Network, Algorithm, str], None]

CASES = [(name, verb) for name, algorithm in ALGORITHMS.items() for verb in algorithm.collectives]
SHAPES = [(4,), (3, 5), (4, 4), (2, 2, 2, 2), (2, 4, 4)]
COUNTS = [2, 3, 8]

PAIRED = ("kangaring",)
SWITCHED = ("switch-direct", "switch-direct-all")
SERVERS = ("hierarchical-ring", "hierarchical-rdh", "hierarchical-mesh")


def possible(name: str, ranks: int, *, switched: bool = False) -> bool:
    """Halving needs a power of two, Kangaring pairs, a hierarchy servers, direct levels a switch."""
    if name == "rdh":
        return not ranks & (ranks - 1)
    return name not in (*PAIRED, *SERVERS) and (switched or name not in SWITCHED)


ON_TORI = [
    (name, verb, shape) for name, verb in CASES for shape in SHAPES if possible(name, math.prod(shape))
]
ON_SWITCHES = [
    (name, verb, count) for name, verb in CASES for count in COUNTS if possible(name, count, switched=True)
]


def close(found: float, expected: float, steps: int) -> bool:
    """Equal to rounding: half a tick per step, and the floats of the formula itself."""
    return abs(found - expected) <= TICK * (steps + 2) + 1e-12 * expected


@pytest.mark.parametrize(
    ("name", "collective", "shape"), sweep(ON_TORI, lambda *each: each[2] in SHAPES[1:3]), ids=str
)
def test_a_plan_on_a_torus(name: str, collective: str, shape: Any, torus: Make, delivers: Check) -> None:
    """Its blocks arrive, one flow stands for its images, and no bound is beaten."""
    network, algorithm, size = torus(*shape), ALGORITHMS[name], 2.0**26
    delivers(network, algorithm, collective)
    schedule = algorithm.schedule(network, collective, size)
    once = solve(network, schedule)
    each = flow_by_flow(network, schedule)
    assert once.total_ticks == each.total_ticks
    assert np.allclose(once.carried, each.carried)
    n, ports = network.size, 2 * len(shape) * B
    share = (n - 1) / n * size / ports
    bound = {"all_reduce": 2 * share, "all_gather": share, "reduce_scatter": share, "all_to_all": share}
    assert once.time_s >= bound.get(collective, size / ports) * (1 - 1e-12)
    assert once.time_s >= A
    assert once.latency_s <= once.time_s
    assert busy_ticks(network, schedule) <= once.total_ticks


@pytest.mark.parametrize("name", ["ring", "bucket", "mesh", "rdh"])
@pytest.mark.parametrize("collective", ["all_reduce", "all_gather"])
def test_one_flow_stands_for_its_images_where_memory_binds(name: str, collective: str, torus: Make) -> None:
    network = Network(torus(4, 4).topology, memory=60e9)
    schedule = ALGORITHMS[name].schedule(network, collective, 2.0**28)
    once = solve(network, schedule)
    each = flow_by_flow(network, schedule)
    # Sums in another order can round a step's last tick the other way.
    assert abs(once.total_ticks - each.total_ticks) <= schedule.steps
    assert np.allclose(once.accessed, each.accessed)
    assert once.time_s > 1.5 * solve(network.with_free_memory, schedule).time_s
    assert busy_ticks(network, schedule) <= once.total_ticks


@pytest.mark.parametrize(
    ("name", "collective", "count"), sweep(ON_SWITCHES, lambda *each: each[2] == 8), ids=str
)
def test_data_arrives_through_a_switch(
    name: str, collective: str, count: int, switch: Make, delivers: Check
) -> None:
    delivers(switch(count), ALGORITHMS[name], collective)


@settings(max_examples=40)
@given(n=st.integers(3, 24), size=st.floats(1.0, 2.0**34))
def test_ring_costs_what_theory_says(torus: Make, n: int, size: float) -> None:
    network = torus(n)
    for name, ways in (("ring-1", 1), ("ring-2", 2)):
        found = solve(network, ALGORITHMS[name].schedule(network, "all_reduce", size))
        assert close(found.time_s, 2 * (n - 1) * (A + size / (ways * n * B)), 2 * n)
        half = solve(network, ALGORITHMS[name].schedule(network, "all_gather", size))
        assert close(half.time_s, (n - 1) * (A + size / (ways * n * B)), n)


@settings(max_examples=40)
@given(dims=st.lists(st.integers(3, 6), min_size=1, max_size=3), size=st.floats(1.0, 2.0**34))
def test_bucket_costs_what_theory_says(torus: Make, dims: list[int], size: float) -> None:
    network = torus(*dims)
    expected, part = 0.0, size
    for k in dims:
        expected += 2 * (k - 1) * (A + part / (k * B))
        part /= k
    found = solve(network, ALGORITHMS["bucket-1"].schedule(network, "all_reduce", size))
    assert close(found.time_s, expected, 4 * sum(dims))


@settings(max_examples=30)
@given(k=st.integers(3, 6), d=st.integers(1, 3), size=st.floats(1.0, 2.0**34))
def test_bucket_on_all_ports_reaches_its_cost(torus: Make, k: int, d: int, size: float) -> None:
    network = torus(*[k] * d)
    n = k**d
    expected = 2 * (d * (k - 1) * A + (n - 1) / n * size / (2 * d * B))
    found = solve(network, ALGORITHMS["bucket"].schedule(network, "all_reduce", size))
    assert close(found.time_s, expected, 4 * d * k)


@settings(max_examples=40)
@given(bits=st.integers(1, 6), size=st.floats(1.0, 2.0**34))
def test_halving_doubling_and_mesh_on_a_switch(switch: Make, bits: int, size: float) -> None:
    n, wide, path = 2**bits, 1024e9, 2 * 0.5e-6
    network = switch(n)
    rdh = solve(network, ALGORITHMS["rdh"].schedule(network, "all_reduce", size))
    assert close(rdh.time_s, 2 * bits * path + 2 * (n - 1) / n * size / wide, 2 * bits)
    mesh = solve(network, ALGORITHMS["mesh"].schedule(network, "all_reduce", size))
    assert close(mesh.time_s, 2 * (path + (n - 1) / n * size / wide), 2)
    tree = solve(network, ALGORITHMS["tree"].schedule(network, "broadcast", size))
    assert close(tree.time_s, bits * (path + size / wide), bits)


@pytest.mark.parametrize(("dims", "bits"), [*(((2,) * bits, bits) for bits in (2, 3, 4, 5)), ((4, 4), 4)])
def test_halving_doubling_on_a_hypercube_meets_no_contention(dims: Any, bits: int, torus: Make) -> None:
    """A 4×4 torus has one of 16 corners in it."""
    network, size, n = torus(*dims), 2.0**28, 2**bits
    found = solve(network, ALGORITHMS["rdh"].schedule(network, "all_reduce", size))
    assert close(found.time_s, 2 * bits * A + 2 * (n - 1) / n * size / B, 2 * bits)


@settings(max_examples=40)
@given(
    dims=st.lists(st.sampled_from([2, 3, 4, 5, 6, 8]), min_size=1, max_size=3),
    size=st.floats(2.0**20, 2.0**34),
)
def test_all_to_all_reaches_its_bound_on_every_torus(torus: Make, dims: list[int], size: float) -> None:
    network = torus(*dims)
    found = solve(network, ALGORITHMS["direct"].schedule(network, "all_to_all", size))
    # A dimension of k: n·S·(mean distance)/(links of the dimension); a side of 2 has one cable.
    bound = max(size * (k // 2) * ((k + 1) // 2) / ((2 if k > 2 else 1) * k * B) for k in dims)
    farthest = sum(k // 2 for k in dims) * A
    assert bound <= found.time_s * (1 + 1e-12)
    assert found.time_s <= bound + farthest + 2 * TICK


def test_halving_one_link_slows_exactly_the_flows_that_cross_it(torus: Make) -> None:
    whole = torus(4, 4)
    ring = ALGORITHMS["ring-1"]
    before = solve(whole, ring.schedule(whole, "all_reduce", 2.0**28))
    used = {(each.src, each.dst) for each, load in zip(whole.links, before.carried, strict=True) if load > 0}
    idle = {(each.src, each.dst) for each in whole.links} - used
    assert len(used) == 16
    for pair, factor in ((min(used), 2.0), (min(idle), 1.0)):
        slow = Network(whole.topology, scale={pair: 0.5})
        assert slow.symmetry is None
        after = solve(slow, ring.schedule(slow, "all_reduce", 2.0**28))
        transfer = before.time_s - before.latency_s
        assert after.time_s == pytest.approx(before.latency_s + transfer * factor, rel=1e-9)
        assert np.allclose(sorted(after.carried), sorted(before.carried))


@given(
    name=st.sampled_from(sorted({name for name, c in CASES if c == "all_reduce" and possible(name, 16)})),
    faster=st.floats(1.0, 10.0),
    size=st.floats(1.0, 2.0**32),
)
def test_more_bandwidth_is_never_slower(torus: Make, name: str, faster: float, size: float) -> None:
    slow, fast = torus(4, 4), torus(4, 4, bandwidth=B * faster)
    times = [
        solve(each, ALGORITHMS[name].schedule(each, "all_reduce", size)).total_ticks for each in (slow, fast)
    ]
    assert times[1] <= times[0]


def test_a_switch_with_an_odd_number_of_ranks_still_rings(switch: Make) -> None:
    network = switch(7)
    found = solve(network, ALGORITHMS["ring-1"].schedule(network, "all_reduce", 7e9))
    assert math.isclose(found.time_s, 2 * 6 * (1e-6 + 1e9 / 1024e9), rel_tol=1e-9)


REFUSED = {
    row.values[0].partition(" on ")[0]: row for row in messages(Path(__file__).with_name("impossible.txt"))
}
"""By algorithm: `NAME on` a torus that it cannot work on, and what is said."""


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_why_and_what_else(name: str, torus: Make) -> None:
    words, text, _ = REFUSED[name].values
    network, algorithm = torus(*map(int, words.partition(" on ")[2].split("x"))), ALGORITHMS[name]
    for collective in algorithm.collectives:
        with pytest.raises(NotPossible) as refusal:
            algorithm.schedule(network, collective, 1.0)
        assert str(refusal.value) == text


def test_what_is_not_possible_is_what_is_refused() -> None:
    every = {(name, shape) for name in ALGORITHMS for shape in SHAPES}
    refused = {(name, shape) for name, shape in every if not possible(name, math.prod(shape))}
    assert {name for name, _ in refused} == set(REFUSED)


@pytest.mark.parametrize("name", ["bucket-1", "bucket-2", "bucket"])
def test_a_bucket_needs_ranks_that_are_alike(name: str, torus: Make) -> None:
    slow = Network(torus(4).topology, scale={(0, 1): 0.5})
    with pytest.raises(NotPossible) as refusal:
        ALGORITHMS[name].schedule(slow, "all_reduce", 1.0)
    assert str(refusal.value) == (
        f"{name} needs a torus on which all ranks are alike\n"
        "  cause: torus 4 has no such dimensions, or a link or rank unlike the others\n"
        "  try:   --algorithm ring, mesh or direct"
    )


# Kangaring's plan moves the bytes that its blocks need, over half the hops of a ring -----------------


@pytest.mark.parametrize("system", ["trn1.32xlarge", "inf2.48xlarge", "trn2-16.48xlarge"])
@pytest.mark.parametrize("collective", ["all_reduce", "all_gather", "reduce_scatter"])
def test_kangaring_moves_the_bytes_of_its_blocks(
    registry: Registry, system: str, collective: str, delivers: Check
) -> None:
    """Over half the hops of a ring: n/2 − 1 and one or two inside the device, where that takes n − 1."""
    network = Fabric(registry.system(system), Options(level="logical-core")).network
    delivers(network, ALGORITHMS["kangaring"], collective)
    schedule = ALGORITHMS["kangaring"].schedule(network, collective, 2.0**26)
    phases = 2 if collective == "all_reduce" else 1
    assert phases * (network.size // 2) <= schedule.steps <= phases * (network.size // 2) + phases
