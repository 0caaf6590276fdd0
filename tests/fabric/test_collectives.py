"""Every algorithm: right data, the literature's cost, the bounds, and symmetry's exactness."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.emulator.fabric.algorithms import ALGORITHMS
from trnbench.emulator.fabric.algorithms.algorithm import NotPossible, Transfer
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.solve import solve

B, A = 128e9, 1e-6  # link figures of the test networks: bytes/s per direction, seconds per hop
TICK = 1e-12
Make = Callable[..., Network]
Check = Callable[[str, int, Iterable[list[Transfer]]], None]

CASES = [(name, c) for name, each in ALGORITHMS.items() for c in each.collectives]
SHAPES = [(4,), (8,), (4, 4), (3, 5), (4, 4, 4), (2, 2, 2, 2), (4, 8)]


def runs_on_a_torus(name: str) -> bool:
    return not name.startswith(("kangaring", "switch", "hierarchical"))


def refused(name: str, ranks: int) -> None:
    """Halving needs a power of two, Kangaring pairs, a hierarchy servers, direct levels a switch."""
    assert name in ("rdh", "kangaring", "switch-direct", "switch-direct-all") or "hierarchical" in name
    assert name != "rdh" or ranks & (ranks - 1)


def close(found: float, expected: float, steps: int) -> bool:
    """Equal to rounding: half a tick per step, and the floats of the formula itself."""
    return abs(found - expected) <= TICK * (steps + 2) + 1e-12 * expected


@pytest.mark.parametrize(("name", "collective"), CASES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_data_arrives_where_it_should(
    name: str, collective: str, shape: tuple[int, ...], torus: Make, delivers: Check
) -> None:
    network = torus(*shape)
    try:
        steps = list(ALGORITHMS[name].transfers(network, collective))
    except NotPossible:
        refused(name, network.size)
        return
    delivers(collective, network.size, steps)


@pytest.mark.parametrize(("name", "collective"), CASES)
@pytest.mark.parametrize("count", [2, 3, 8, 16])
def test_data_arrives_through_a_switch(
    name: str, collective: str, count: int, switch: Make, delivers: Check
) -> None:
    network = switch(count)
    try:
        steps = list(ALGORITHMS[name].transfers(network, collective))
    except NotPossible:
        refused(name, count)
        return
    delivers(collective, network.size, steps)


@pytest.mark.parametrize(("name", "collective"), CASES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bytes_of_the_schedule_are_those_of_its_blocks(
    name: str, collective: str, shape: tuple[int, ...], torus: Make
) -> None:
    network, size = torus(*shape), float(2**24)
    algorithm = ALGORITHMS[name]
    try:
        schedule = algorithm.schedule(network, collective, size)
    except NotPossible:
        return
    blocks = {b for step in algorithm.transfers(network, collective) for move in step for b in move.blocks}
    steps = list(algorithm.transfers(network, collective))
    count = len(blocks) if collective != "all_to_all" else network.size * (network.size - 1)
    unit = {"all_to_all": size / network.size, "permute": size}.get(collective, size / count)
    moved = sum(len(move.blocks) for step in steps for move in step) * unit
    planned = 0.0
    for chain in schedule.chains:
        for step in chain:
            for move in step.moves:
                senders = len(move.pairs) if move.offset is None else network.size
                planned += move.size * senders * step.times
    assert planned == pytest.approx(moved)


@pytest.mark.parametrize(("name", "collective"), CASES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_symmetry_changes_nothing(name: str, collective: str, shape: tuple[int, ...], torus: Make) -> None:
    network = torus(*shape)
    try:
        schedule = ALGORITHMS[name].schedule(network, collective, 2.0**26)
    except NotPossible:
        return
    once = solve(network, schedule)
    each = solve(network, schedule, use_symmetry=False)
    assert once.total_ticks == each.total_ticks
    assert np.allclose(once.carried, each.carried)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(3, 24), size=st.floats(1.0, 2.0**34))
def test_ring_costs_what_theory_says(torus: Make, n: int, size: float) -> None:
    network = torus(n)
    for name, ways in (("ring-1", 1), ("ring-2", 2)):
        found = solve(network, ALGORITHMS[name].schedule(network, "all_reduce", size))
        assert close(found.time_s, 2 * (n - 1) * (A + size / (ways * n * B)), 2 * n)
        half = solve(network, ALGORITHMS[name].schedule(network, "all_gather", size))
        assert close(half.time_s, (n - 1) * (A + size / (ways * n * B)), n)


@settings(max_examples=40, deadline=None)
@given(dims=st.lists(st.integers(3, 6), min_size=1, max_size=3), size=st.floats(1.0, 2.0**34))
def test_bucket_costs_what_theory_says(torus: Make, dims: list[int], size: float) -> None:
    network = torus(*dims)
    expected, part = 0.0, size
    for k in dims:
        expected += 2 * (k - 1) * (A + part / (k * B))
        part /= k
    found = solve(network, ALGORITHMS["bucket-1"].schedule(network, "all_reduce", size))
    assert close(found.time_s, expected, 4 * sum(dims))


@settings(max_examples=30, deadline=None)
@given(k=st.integers(3, 6), d=st.integers(1, 3), size=st.floats(1.0, 2.0**34))
def test_bucket_on_all_ports_reaches_its_cost(torus: Make, k: int, d: int, size: float) -> None:
    network = torus(*[k] * d)
    n = k**d
    expected = 2 * (d * (k - 1) * A + (n - 1) / n * size / (2 * d * B))
    found = solve(network, ALGORITHMS["bucket"].schedule(network, "all_reduce", size))
    assert close(found.time_s, expected, 4 * d * k)


def test_bucket_on_all_ports_is_within_five_percent_of_the_bandwidth_bound(torus: Make) -> None:
    network, size = torus(4, 4), 2.0**30
    found = solve(network, ALGORITHMS["bucket"].schedule(network, "all_reduce", size))
    assert 1.0 <= found.time_s / (2 * 15 / 16 * size / (4 * B)) <= 1.05


@settings(max_examples=40, deadline=None)
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


@pytest.mark.parametrize("bits", [2, 3, 4, 5])
def test_halving_doubling_on_a_hypercube_meets_no_contention(bits: int, torus: Make) -> None:
    network, size, n = torus(*[2] * bits), 2.0**28, 2**bits
    found = solve(network, ALGORITHMS["rdh"].schedule(network, "all_reduce", size))
    assert close(found.time_s, 2 * bits * A + 2 * (n - 1) / n * size / B, 2 * bits)


def test_halving_doubling_finds_the_hypercube_in_a_4x4_torus(torus: Make) -> None:
    network, size = torus(4, 4), 2.0**28
    found = solve(network, ALGORITHMS["rdh"].schedule(network, "all_reduce", size))
    assert close(found.time_s, 2 * 4 * A + 2 * 15 / 16 * size / B, 8)


@settings(max_examples=40, deadline=None)
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


@pytest.mark.parametrize(("name", "collective"), CASES)
@pytest.mark.parametrize("shape", [(4,), (4, 4), (3, 5), (4, 4, 4)], ids=str)
def test_nothing_beats_its_lower_bound(
    name: str, collective: str, shape: tuple[int, ...], torus: Make
) -> None:
    network, size = torus(*shape), 2.0**28
    n, ports = network.size, 2 * len(shape) * B
    try:
        found = solve(network, ALGORITHMS[name].schedule(network, collective, size))
    except NotPossible:
        return
    share = (n - 1) / n * size / ports
    bound = {"all_reduce": 2 * share, "all_gather": share, "reduce_scatter": share, "all_to_all": share}
    assert found.time_s >= bound.get(collective, size / ports) * (1 - 1e-12)
    assert found.time_s >= A
    assert found.latency_s <= found.time_s


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


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(sorted({name for name, c in CASES if c == "all_reduce" and runs_on_a_torus(name)})),
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


def test_refusals_say_why_and_what_else(torus: Make, switch: Make) -> None:
    with pytest.raises(NotPossible) as refusal:
        ALGORITHMS["rdh"].schedule(torus(3, 5), "all_reduce", 1.0)
    assert str(refusal.value) == (
        "rdh needs a power of two of ranks, not 15\n"
        "  cause: partners are found by flipping one bit of the rank\n"
        "  try:   --algorithm ring or mesh, or another group size"
    )
