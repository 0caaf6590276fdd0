"""Routes: minimal, deterministic, every equal one found, hosts never passed."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import permutations
from math import prod
from typing import Any

import msgspec
import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_run import text_of

from trnbench.errors import TopologyError
from trnbench.topology.builder import Assembly, add_devices, connect_chain, connect_switch
from trnbench.topology.graph import LinkClass, LinkKind, NodeKind, Topology
from trnbench.topology.properties import Distances, distances
from trnbench.topology.routing import Router

Build = Callable[..., Topology]

cases = st.lists(st.integers(1, 5), min_size=1, max_size=3).flatmap(
    lambda sides: st.tuples(
        st.just(sides), st.integers(0, prod(sides) - 1), st.integers(0, prod(sides) - 1), st.booleans()
    )
)


def names(topology: Topology, src: int, dst: int) -> list[list[str]]:
    router = Router(topology)
    return [[topology.nodes[link.dst].name for link in route] for route in router.routes(src, dst)]


@given(cases)
def test_routes_in_tori_are_all_the_shortest_ones(torus: Build, case: Any) -> None:
    sides, src, dst, searched = case
    topology = torus(sides)
    if searched:  # without its shape the graph is searched, not calculated
        topology = msgspec.structs.replace(topology, shape=("graph",))
    graph = nx.Graph()
    graph.add_nodes_from(range(prod(sides)))
    graph.add_edges_from((link.src, link.dst) for link in topology.links)
    router = Router(topology)
    assert router.distance(src, dst) == nx.shortest_path_length(graph, src, dst)
    found = [[src, *(link.dst for link in route)] for route in router.routes(src, dst)]
    assert sorted(found) == sorted(nx.all_shortest_paths(graph, src, dst))
    assert {tuple(route) for route in router.routes(src, dst)} >= {router.route(src, dst)}


def test_a_broken_cable_is_routed_around(torus: Build) -> None:
    whole = torus((4, 4))
    links = tuple(link for link in whole.links if {link.src, link.dst} != {0, 1})
    broken = msgspec.structs.replace(whole, links=links)
    router = Router(broken)
    assert router.distance(0, 1) == 3
    assert names(broken, 0, 1) == [["d12", "d13", "d1"], ["d3", "d2", "d1"], ["d4", "d5", "d1"]]


@pytest.mark.parts
def test_devices_of_one_server_meet_at_its_own_switch(built: Build) -> None:
    topology = built("trn3-gen2-ultraserver")
    assert names(topology, 0, 1) == [["s0.sw", "s0.d1"]]
    assert names(topology, 0, 4) == [["sw-a", "s1.d0"]]
    assert names(topology, 0, 72) == [["s18.d0"]]
    assert names(topology, 0, 73) == [["s0.sw", "s0.d1", "s18.d1"], ["s18.d0", "s18.sw", "s18.d1"]]
    assert names(topology, 0, 77) == [["sw-a", "s1.d1", "s19.d1"], ["s18.d0", "sw-b", "s19.d1"]]


@pytest.mark.parts
def test_neuronlink_goes_before_the_network(built: Build) -> None:
    # Over two adapters it would be four links as well, over the host only two.
    topology = built("trn1.32xlarge")
    router = Router(topology)
    assert router.distance(0, 10) == 4
    kinds = {topology.classes[link.cls].kind for route in router.routes(0, 10) for link in route}
    assert kinds == {LinkKind.NEURONLINK}
    assert len(list(router.routes(0, 10))) == 24


@pytest.mark.parts
def test_between_instances_over_the_adapters(built: Build) -> None:
    topology = built("trn1-ultracluster:3")
    assert names(topology, 1, 16 + 6) == [["s0.efa0", "network", "s1.efa3", "s1.d6"]]


@pytest.mark.parts
def test_routes_across_the_full_cluster_are_cheap(built: Build) -> None:
    topology = built("trn1-ultracluster")
    router = Router(topology)
    assert router.distance(0, 1) == 1
    start = time.process_time()
    for dst in range(16, 30_000, 300):
        assert len(router.route(0, dst)) == 4
    assert time.process_time() - start < 8  # 0.1 s on an idle core


@pytest.mark.parts
def test_a_core_reaches_another_through_its_device(built: Build) -> None:
    topology = built("trn1.32xlarge", cores=True)
    one, other = topology.by_name["d0.c0"].id, topology.by_name["d1.c1"].id
    assert names(topology, one, other) == [["d0", "d1", "d1.c1"]]


@pytest.mark.parts
def test_a_host_reaches_its_devices_and_others_by_way_of_them(built: Build) -> None:
    topology = built("trn1.32xlarge")
    host = topology.by_name["numa0"].id
    assert names(topology, host, 4) == [["d4"]]
    assert names(topology, 4, host) == [["numa0"]]


def test_islands_of_unlike_devices_on_one_network(link_class: Callable[..., LinkClass]) -> None:
    """Chains with an adapter in the middle, at an end and at both ends, and a device alone."""
    assembly = Assembly("chains")
    chains = [
        *add_devices(assembly, 3, [(0,), (1,), (2,)]),
        [assembly.add("s3.d0", NodeKind.DEVICE, (3, 0), 3)],
    ]
    classes = (("cable", LinkKind.NEURONLINK, 0), ("pcie", LinkKind.PCIE, 2), ("efa", LinkKind.EFA, 2))
    assembly.declare(*(link_class(name, kind, level=level) for name, kind, level in classes))
    for chain in chains:
        connect_chain(assembly, chain, "cable")
    gates = (chains[0][1], chains[1][0], chains[2][0], chains[2][2], chains[3][0])
    adapters = [
        connect_switch(assembly, f"efa{gate}", [gate], "pcie", kind=NodeKind.ADAPTER) for gate in gates
    ]
    connect_switch(assembly, "network", adapters, "efa", kind=NodeKind.NETWORK)
    topology = assembly.finish(("graph",))
    graph = nx.Graph()
    for link in topology.links:
        graph.add_edge(link.src, link.dst, weight=1 if link.cls == "cable" else 1000)
    router = Router(topology)
    lengths = []
    for src, dst in permutations(range(len(topology.nodes)), 2):
        routes = [[src, *(link.dst for link in route)] for route in router.routes(src, dst)]
        assert sorted(routes) == sorted(nx.all_shortest_paths(graph, src, dst, weight="weight"))
        if max(src, dst) < len(topology.devices):
            lengths.append(len(routes[0]) - 1)
    assert distances(topology) == Distances(
        diameter=max(lengths),
        average=sum(lengths) / len(lengths),
        method="4 kinds of island, every pair inside, and the way out to the network",
    )


def test_thirty_thousand_devices_on_one_switch(link_class: Callable[..., LinkClass]) -> None:
    assembly = Assembly("star")
    devices = [assembly.add(f"d{i}", NodeKind.DEVICE, (i,)) for i in range(30_000)]
    assembly.declare(link_class("port", LinkKind.SWITCH))
    connect_switch(assembly, "sw", devices, "port")
    topology = assembly.finish(("switched", 1, 30_000))
    router = Router(topology)
    assert [link.dst for link in router.route(0, 29_999)] == [30_000, 29_999]


def test_no_route_through_a_host(split: Topology) -> None:
    router = Router(split)
    assert text_of(TopologyError, router.route, 0, 1) == (
        "split: no route from d0 to d1\n"
        "  cause: the graph is not connected, or only a host joins the two\n"
        "  try:   trnbench topology check split"
    )
    assert text_of(TopologyError, router.way_out, 0) == (
        "split: d0 has no way to the network\n"
        "  cause: the device is joined to no network adapter, or the graph is not connected\n"
        "  try:   trnbench topology check split"
    )
