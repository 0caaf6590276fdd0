"""Clusters of any size: a few instances stand for all of them, and one unlike the others for itself."""

from __future__ import annotations

from typing import Any

import pytest
from campaigns import sweep
from fabric_question import GIB, MIB, run

from trnbench.errors import TopologyError
from trnbench.registry import Registry
from trnbench_emulator.fabric import systems
from trnbench_emulator.fabric.algorithms import ALGORITHMS, OVER_INSTANCES
from trnbench_emulator.fabric.algorithms.algorithm import NAMES, NotPossible
from trnbench_emulator.fabric.solve import solve
from trnbench_emulator.fabric.systems import Fabric, Options


@pytest.mark.parametrize("count", sweep([2, 3, 4], (3).__eq__))
@pytest.mark.parametrize("outer", ["ring", "rdh", "mesh"])
@pytest.mark.parametrize("collective", ["all_reduce", "all_gather", "reduce_scatter"])
def test_two_instances_stand_for_the_whole_cluster(
    registry: Registry, count: int, outer: str, collective: str
) -> None:
    name = f"hierarchical-{outer}"
    fabric = Fabric(registry.system(f"trn1-ultracluster:{count}"), Options(ideal=True))
    size = 3 * 2.0**24
    whole, two = fabric.network, fabric.standing()
    try:
        full = solve(whole, ALGORITHMS[name].schedule(whole, collective, size))
    except NotPossible:
        assert (outer, count) == ("rdh", 3)
        return
    compact = solve(two, OVER_INSTANCES[name].over_instances(two, collective, size, count))
    # A tick of rounding per step, nothing else.
    assert abs(full.total_ticks - compact.total_ticks) <= 64


@pytest.mark.parametrize("count", [2, 3])
def test_an_all_to_all_of_a_cluster_is_the_one_of_the_whole_graph(registry: Registry, count: int) -> None:
    fabric = Fabric(registry.system(f"trn1-ultracluster:{count}"), Options(ideal=True))
    whole, two = fabric.network, fabric.standing()
    full = solve(whole, ALGORITHMS["direct"].schedule(whole, "all_to_all", 64 * MIB))
    compact = solve(two, OVER_INSTANCES["direct"].over_instances(two, "all_to_all", 64 * MIB, count))
    assert abs(full.total_ticks - compact.total_ticks) <= 64


def test_hierarchies_deliver_the_right_data(registry: Registry, delivers: Any) -> None:
    for count in (2, 3):
        network = Fabric(registry.system(f"trn1-ultracluster:{count}")).network
        for outer in ("ring", "mesh", *(("rdh",) if count == 2 else ())):
            for collective in ("all_reduce", "all_gather", "reduce_scatter"):
                delivers(network, ALGORITHMS[f"hierarchical-{outer}"], collective)


@pytest.mark.parametrize("collective", ["all_reduce", "all_gather"])
@pytest.mark.parametrize(
    ("outer", "count"), sweep([("ring", 3), ("rdh", 4), ("mesh", 3)], lambda outer, _: outer == "rdh")
)
@pytest.mark.parametrize(
    "unlike",
    [
        Options(degraded=(("s2.d0", "s2.d1", 0.25),), ideal=True),
        Options(degraded=(("s1.efa0", "network", 0.5),), ideal=True),
        Options(straggler=((33, 0.02),)),
    ],
    ids=["link", "adapter", "straggler"],
)
def test_an_instance_unlike_the_others_stands_for_itself(
    registry: Registry,
    monkeypatch: pytest.MonkeyPatch,
    unlike: Options,
    count: int,
    outer: str,
    collective: str,
) -> None:
    monkeypatch.setattr(systems, "WHOLE", 0)
    name, size = f"hierarchical-{outer}", 3 * 2.0**24
    fabric = Fabric(registry.system(f"trn1-ultracluster:{count}"), unlike)
    whole, few = fabric.network, fabric.standing()
    assert len(fabric.unlike) == 1
    assert few.size == 32
    try:
        full = solve(whole, ALGORITHMS[name].schedule(whole, collective, size))
    except NotPossible:
        assert outer == "rdh"
        return
    compact = solve(few, OVER_INSTANCES[name].over_instances(few, collective, size, count))
    alike = Fabric(registry.system(f"trn1-ultracluster:{count}"), Options(ideal=unlike.ideal))
    plan = OVER_INSTANCES[name].over_instances(alike.standing(), collective, size, count)
    usual = solve(alike.standing(), plan)
    assert compact.total_ticks > 1.05 * usual.total_ticks
    # All partners are taken to wait as one does; what they pass on among each other is missing.
    assert 0.92 * full.total_ticks <= compact.total_ticks <= full.total_ticks + 64


@pytest.mark.parametrize("collective", NAMES)
def test_a_small_cluster_with_a_slow_link_is_simulated_as_it_is(registry: Registry, collective: str) -> None:
    system = registry.system("trn1-ultracluster:4")
    fabric = Fabric(system, Options(degraded=(("s3.d0", "s3.d1", 0.1),)))
    assert fabric.standing().size == fabric.size
    slow, whole = (run(each, collective, 64 * MIB) for each in (fabric, Fabric(system)))
    assert slow.time_s >= whole.time_s * (1 - 1e-9)
    assert slow.waterfall.total == round(slow.time_s * 1e12)


def test_a_slow_link_in_thirty_thousand_devices_costs_what_it_costs_in_few(registry: Registry) -> None:
    large = registry.system("trn1-ultracluster")
    slow = Fabric(large, Options(degraded=(("s1874.d3", "s1874.d2", 0.1),)))
    found, whole = (run(each, "all_reduce", GIB) for each in (slow, Fabric(large)))
    assert found.time_s > whole.time_s
    assert run(Fabric(large, Options(late=((29_999, 1.0),))), "all_reduce", MIB).time_s > 1.0
    both = Options(straggler=((0, 0.01), (31, 0.01)))
    few = Fabric(registry.system("trn1-ultracluster:2"), both)
    assert few.standing().size == 32  # all there are stand for themselves
    assert run(few, "all_to_all", MIB).time_s > run(Fabric(few.system), "all_to_all", MIB).time_s


def test_a_million_devices_are_asked_but_not_drawn(registry: Registry) -> None:
    system = registry.system("trn1-ultracluster:62500")
    assert run(Fabric(system), "all_reduce", GIB).ranks == 1_000_000
    with pytest.raises(TopologyError, match="is not built"):
        system.topology()
