"""Isomorphism: found where there is one, denied where there is none."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.topology.builder import Assembly, connect_hypercube, gray
from trnbench.topology.graph import LinkClass, NodeKind, Topology
from trnbench.topology.isomorphism import (
    device_adjacency,
    hypercube_adjacency,
    hypercube_mapping,
    is_isomorphism,
    isomorphism,
)

Build = Callable[..., Topology]


@given(st.data())
@settings(deadline=None, max_examples=60)
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
    assert mapping is not None
    assert is_isomorphism(one, moved, mapping)


@given(st.integers(0, 400), st.integers(0, 400))
@settings(deadline=None, max_examples=60)
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
    assert mapping is not None
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
