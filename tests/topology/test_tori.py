"""Tori of any shape: what the closed forms say, and what networkx says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import prod
from typing import Any

import msgspec
import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.errors import TopologyError
from trnbench.topology.bisection import Bisection, bisection, torus_width
from trnbench.topology.builder import (
    Assembly,
    Server,
    add_servers,
    connect_hypercube,
    connect_ring,
    connect_switch,
    gray,
)
from trnbench.topology.cycles import disjoint, hamiltonian_cycles
from trnbench.topology.graph import LinkClass, LinkKind, NodeKind, Topology, shape_words
from trnbench.topology.isomorphism import (
    device_adjacency,
    hypercube_adjacency,
    hypercube_mapping,
    is_isomorphism,
    isomorphism,
)
from trnbench.topology.properties import distances, properties
from trnbench.topology.soundness import is_transitive, one_way_links

Build = Callable[..., Topology]

shapes = st.lists(st.integers(1, 6), min_size=1, max_size=3).filter(lambda sides: 2 <= prod(sides) <= 120)
small = st.lists(st.integers(1, 8), min_size=1, max_size=3).filter(lambda sides: 2 <= prod(sides) <= 14)


def as_networkx(topology: Topology) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(len(topology.devices)))
    graph.add_edges_from((link.src, link.dst) for link in topology.links)
    return graph


def reference(sides: Sequence[int]) -> nx.Graph:
    """The same torus by networkx, its corners numbered row by row."""
    return nx.convert_node_labels_to_integers(
        nx.grid_graph(list(reversed(sides)), periodic=True), ordering="sorted"
    )


@pytest.mark.parametrize(("sides", "side"), [((17,), "longest side"), ((18,), "longest even side")])
def test_a_ring_is_cut_across_the_side_that_it_has(torus: Build, sides: tuple[int, ...], side: str) -> None:
    cut = bisection(torus(sides))
    assert cut is not None
    assert (cut.cables, cut.exact) == (2, True)
    assert cut.method.endswith(f"a straight cut across the {side}")


@given(shapes)
def test_it_is_the_torus_of_networkx(torus: Build, sides: list[int]) -> None:
    graph = as_networkx(torus(sides))
    other = nx.Graph([(a, b) for a, b in reference(sides).edges if a != b])
    other.add_nodes_from(range(prod(sides)))
    assert set(map(frozenset, graph.edges)) == set(map(frozenset, other.edges))


@given(shapes)
def test_degree_counts_the_neighbours_of_each_axis(torus: Build, sides: list[int]) -> None:
    topology = torus(sides)
    degree = sum(2 if side > 2 else side - 1 for side in sides)
    assert properties(topology).degree == (degree, degree)
    assert len(topology.links) == degree * prod(sides)
    assert not one_way_links(topology)


@given(shapes)
def test_distances_agree_with_networkx(torus: Build, sides: list[int]) -> None:
    topology = torus(sides)
    graph = as_networkx(topology)
    found = distances(topology)
    assert found.exact
    assert found.diameter == nx.diameter(graph)
    assert found.average == pytest.approx(nx.average_shortest_path_length(graph))


@given(shapes)
def test_every_device_sees_the_same_graph(torus: Build, sides: list[int]) -> None:
    assert is_transitive(torus(sides))


def narrowest(topology: Topology) -> int:
    """Every halving tried, without the code under test."""
    neighbours = device_adjacency(topology)
    count = len(neighbours)
    return min(
        sum(len(neighbours[node] - set(half)) for node in half)
        for half in combinations(range(count), count // 2)
    )


@given(small)
@settings(max_examples=30)
def test_the_closed_form_of_the_bisection_is_the_narrowest_cut(torus: Build, sides: list[int]) -> None:
    topology = torus(sides)
    cut = narrowest(topology)
    found = bisection(topology)
    assert found.exact
    assert (found.cables, found.one_way) == (cut, cut * 1e9)
    assert found.both_ways == 2 * found.one_way
    width = torus_width(sides)
    if width is not None:
        assert width == cut


@pytest.mark.parametrize(
    ("sides", "cables"),
    [
        ((4, 4), 8),
        ((4, 4, 4), 32),
        ((8, 4), 8),
        ((8, 8, 8), 128),
        ((5, 5), 12),
        ((6, 5), 10),
        ((5, 4), 10),
        ((3, 7, 5), 38),
    ],
)
def test_bisection_of_known_tori(torus: Build, sides: tuple[int, ...], cables: int) -> None:
    found = bisection(torus(sides))
    assert (found.cables, found.exact) == (cables, True)


def test_the_bisection_goes_through_the_slow_axis(torus: Build) -> None:
    found = bisection(torus((4, 4, 4), rates=(128e9, 256e9, 256e9)))
    assert (found.cables, found.one_way, found.exact) == (32, 32 * 128e9, True)


def test_a_cut_that_may_not_be_the_narrowest_says_so(torus: Build) -> None:
    words = {"method": "narrowest straight cut across one side", "exact": False}
    # Across the long axis 2 × 4 fast cables, across the short one 2 × 8 slow ones: neither bound is met.
    assert bisection(torus((8, 4), rates=(4e9, 1e9))) == Bisection(cables=16, one_way=16e9, **words)
    assert bisection(torus((9, 2))) == Bisection(cables=5, one_way=5e9, **words)
    assert bisection(torus((5, 5), rates=(4e9, 1e9))) == Bisection(cables=12, one_way=18e9, **words)


@pytest.mark.parametrize(
    ("switches", "direct", "cables", "exact"),
    [
        (((0, 1, 2, 3),), (), 2, True),
        (((0, 1), (2, 3)), ((0, 2), (1, 3)), 2, True),
        (((0, 1), (2, 3)), ((0, 1), (2, 3)), 0, False),  # two machines
        (((0, 1), (2, 3)), ((0, 2), (0, 3)), 2, False),
        (((0, 1), (2, 3)), ((0, 2),), 1, False),
        (((0, 1), (1, 2)), ((0, 2), (1, 3)), 3, False),
        (((0, 1, 2), (2, 3)), ((0, 2), (1, 3)), 3, False),
    ],
)
def test_no_halving_of_devices_at_switches_carries_less(
    link_class: Callable[..., LinkClass], switches: Any, direct: Any, cables: int, exact: bool
) -> None:
    assembly = Assembly("box")
    nodes = [assembly.add(f"d{i}", NodeKind.DEVICE, (i,)) for i in range(4)]
    assembly.declare(link_class("port", LinkKind.SWITCH), link_class("cable"))
    for number, members in enumerate(switches):
        connect_switch(assembly, f"sw{number}", members, "port")
    for one, other in direct:
        assembly.join(nodes[one], nodes[other], "cable")
    method = "straight cuts between servers and racks, switches where they cost least"
    proof = "; no halving can carry less, by the ports of either switch" * exact
    assert bisection(assembly.finish(("switched", 2, 2))) == Bisection(
        cables=cables, one_way=cables * 1e9, method=method + proof, exact=exact
    )


def test_an_odd_number_of_servers_of_one_device(link_class: Callable[..., LinkClass]) -> None:
    """The server in the middle has no halves."""
    assembly = Assembly("pairs")
    devices = [[assembly.add(f"d{i}", NodeKind.DEVICE, (i,), i)] for i in range(3)]
    assembly.declare(link_class("pcie", LinkKind.PCIE), link_class("efa", LinkKind.EFA))
    server = Server.plain(1)
    add_servers(assembly, devices, server, host_cls="pcie", adapter_cls="pcie", network_cls="efa")
    found = bisection(assembly.finish(("single", 1, "network", 3)))
    assert (found.cables, found.one_way, found.exact) == (1, 1.5e9, False)


def test_two_cables_between_the_same_devices_are_two(link_class: Callable[..., LinkClass]) -> None:
    assembly = Assembly("pair")
    assembly.declare(link_class("cable"), link_class("slow", rate=5e8))
    nodes = [assembly.add(f"d{i}", NodeKind.DEVICE, (i,)) for i in range(4)]
    for one, other, cls in ((0, 1, "cable"), (0, 1, "cable"), (2, 3, "slow"), (1, 2, "slow"), (3, 0, "slow")):
        assembly.join(nodes[one], nodes[other], cls)
    found = bisection(assembly.finish(("ring", 4)))
    assert (found.cables, found.one_way, found.method) == (2, 1e9, "every halving tried")


@given(st.lists(st.integers(3, 6), min_size=2, max_size=3).filter(lambda sides: prod(sides) <= 120))
@settings(max_examples=40)
def test_as_many_hamiltonian_cycles_as_axes(torus: Build, sides: list[int]) -> None:
    topology = torus(sides)
    neighbours = device_adjacency(topology)
    cycles = hamiltonian_cycles(topology)
    assert len(cycles) == len(sides)
    for cycle in cycles:
        assert sorted(cycle) == list(range(prod(sides)))
        assert all(cycle[i] in neighbours[cycle[i - 1]] for i in range(len(cycle)))
    assert disjoint(cycles)
    # Together they use every cable once.
    assert sum(map(len, cycles)) * 2 == len(topology.links)


def test_cycles_that_share_a_cable_are_told() -> None:
    assert disjoint([(0, 1, 2, 3), (0, 2, 1, 3)]) is False
    assert disjoint([(0, 1, 2, 3), (0, 4, 5, 3)]) is False  # the cable that closes them


def test_a_ring_of_two_is_one_cable(link_class: Callable[..., LinkClass]) -> None:
    assembly = Assembly("ring")
    nodes = [assembly.add(f"d{i}", NodeKind.DEVICE, (i,)) for i in range(5)]
    assembly.declare(link_class("cable"))
    connect_ring(assembly, nodes[:2], "cable")
    connect_ring(assembly, nodes[2:], "cable")
    assert device_adjacency(assembly.finish(("graph",))) == [{1}, {0}, {3, 4}, {2, 4}, {2, 3}]


@pytest.mark.parametrize("sides", [(0, 4), (), (-1,)])
def test_sides_that_make_no_torus(torus: Build, sides: tuple[int, ...]) -> None:
    with pytest.raises(TopologyError) as error:
        torus(sides)
    shown = "×".join(map(str, sides)) or "none"
    assert str(error.value) == (
        f"sides {shown} make no torus\n"
        "  cause: every side must be 1 or more\n"
        '  try:   for example sides (4, 4), or a size like "trn1-ultracluster:64"'
    )


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (("torus", 4, 4, 2), "torus 4 × 4 × 2"), (("torus", 4, "network", "far"), "torus 4, network"),
        (("torus", 4, 4, "network", 1875), "torus 4 × 4, 1,875 of them on one network"), ((), "graph"),
        (("ring", 12), "ring of 12"), (("ring",), "ring"), (("hypercube", 4), "hypercube 4"),
        (("switched", 36, 4), "switched, 36 servers of 4"), (("switched", 36), "switched 36"),
        (("single", 1, "network", 3), "a single device, 3 of them on one network"),
    ],
)  # fmt: skip
def test_shapes_in_words(torus: Build, shape: tuple[str | int, ...], words: str) -> None:
    assert shape_words(msgspec.structs.replace(torus((4,)), shape=shape)) == words


# Isomorphism: found where there is one, denied where there is none -----------------------------------


@given(st.data())
@settings(max_examples=60)
def test_a_shuffled_graph_is_recognised(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 9))
    pairs = [(a, b) for a in range(count) for b in range(a)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    order = data.draw(st.permutations(range(count)))
    one = [frozenset(b if a == n else a for a, b in edges if n in (a, b)) for n in range(count)]
    moved: list[frozenset[int]] = [frozenset()] * count
    for node in range(count):
        moved[order[node]] = frozenset(order[n] for n in one[node])
    mapping = isomorphism(one, moved)
    assert is_isomorphism(one, moved, mapping)


@given(st.integers(0, 400), st.integers(0, 400))
@settings(max_examples=60)
def test_it_agrees_with_networkx(first: int, second: int) -> None:
    graphs = [nx.gnm_random_graph(7, 9, seed=seed) for seed in (first, second)]
    one, other = ([frozenset(graph[n]) for n in range(7)] for graph in graphs)
    assert (isomorphism(one, other) is not None) == nx.is_isomorphic(*graphs)


@pytest.mark.parametrize(
    ("sides", "bits"), [((4, 4), 4), ((4, 4, 4), 6), ((4, 2), 3), ((2, 2, 2), 3), ((4,), 2), ((2,), 1)]
)
def test_tori_that_are_hypercubes(torus: Build, sides: tuple[int, ...], bits: int) -> None:
    topology = torus(sides)
    mapping = hypercube_mapping(topology)
    assert is_isomorphism(device_adjacency(topology), hypercube_adjacency(bits), mapping)


@pytest.mark.parametrize("sides", [(8, 2), (16,), (3, 3), (8, 8), (1, 1)])
def test_tori_that_are_none(torus: Build, sides: tuple[int, ...]) -> None:
    assert hypercube_mapping(torus(sides)) is None


def test_a_mapping_that_misses_a_link_is_none() -> None:
    cube = hypercube_adjacency(2)
    assert is_isomorphism(cube, cube, (0, 1, 2, 3))
    assert not is_isomorphism(cube, cube, (0, 3, 2, 1))
    assert not is_isomorphism(cube, cube, (0, 1, 3, 2))
    assert not is_isomorphism(cube, cube, (0, 0, 1, 2))


def test_gray_code_steps_flip_one_bit() -> None:
    assert [gray(i) for i in range(4)] == [0b00, 0b01, 0b11, 0b10]
    assert all((gray(i) ^ gray(i + 1)).bit_count() == 1 for i in range(100))


def test_the_hypercube_builder(link_class: Callable[..., LinkClass]) -> None:
    assembly = Assembly("cube")
    nodes = [assembly.add(f"d{i}", NodeKind.DEVICE, (i,)) for i in range(16)]
    assembly.declare(link_class("cable"))
    connect_hypercube(assembly, nodes, "cable")
    topology = assembly.finish(("hypercube", 4))
    assert device_adjacency(topology) == hypercube_adjacency(4)
    assert hypercube_mapping(topology) is not None
    with pytest.raises(ValueError, match=r"^a hypercube has 2\^n nodes, not 12$"):
        connect_hypercube(assembly, nodes[:12], "cable")
