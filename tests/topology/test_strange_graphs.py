"""Graphs of plugins may claim any shape and be wired any way: nothing that looks at them may crash."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.registry import Registry
from trnbench.topology.bisection import bisection
from trnbench.topology.builder import Assembly, Server, add_servers
from trnbench.topology.checks import Expected, check_topology
from trnbench.topology.draw import dot, svg
from trnbench.topology.graph import Figure, LinkClass, LinkKind, NodeKind, Topology, from_json, to_json
from trnbench.topology.listing import text
from trnbench.topology.properties import summarise

KINDS = {
    "cable": LinkKind.NEURONLINK,
    "port": LinkKind.SWITCH,
    "pcie": LinkKind.PCIE,
    "efa": LinkKind.EFA,
}

_HALF = Figure(value=5e8, origin="test")


@st.composite
def graphs(draw: st.DrawFn, link_class: Callable[..., LinkClass]) -> Topology:
    """Up to ten nodes of any kind, any links, any shape; coordinates that may fit it or not."""
    assembly = Assembly(draw(st.sampled_from(["box", 'a "b" <c>', "ø&"])))
    width = draw(st.integers(0, 3))
    devices = draw(st.integers(1, 7))
    others = draw(
        st.lists(st.sampled_from([kind for kind in NodeKind if kind != NodeKind.DEVICE]), max_size=3)
    )
    coords = st.tuples(*[st.integers(0, 2)] * width)
    for i in range(devices):
        assembly.add(f"d{i}", NodeKind.DEVICE, draw(coords), draw(st.integers(0, 2)))
    for i, kind in enumerate(others):
        assembly.add(f"x{i}", kind, host=draw(st.integers(0, 2)))
    assembly.declare(*(link_class(name, kind) for name, kind in KINDS.items()))
    count = devices + len(others)
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(
        lambda pair: pair[0] != pair[1]
    )
    for one, other in draw(st.lists(ends, max_size=14)) if count > 1 else []:
        send = assembly.join if draw(st.booleans()) else assembly.send
        send(one, other, draw(st.sampled_from(sorted(KINDS))))
    words = st.sampled_from(["torus", "ring", "chain", "switched", "single", "hypercube", "network", "blob"])
    return assembly.finish(tuple(draw(st.lists(words | st.integers(0, 4), max_size=5))))


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_nothing_crashes(link_class: Callable[..., LinkClass], data: st.DataObject) -> None:
    topology = data.draw(graphs(link_class))
    assert json.dumps(summarise(topology), allow_nan=False)
    names = tuple(
        (words, "page") for words in ("2D torus", "3D hypercube", "ring", "ring of 3", "all-to-all")
    )
    assert check_topology(topology, Expected(names=names, ports=((4, "page"),)))
    assert text(topology)
    assert dot(topology)
    ET.fromstring(svg(topology))
    assert from_json(to_json(topology)) == topology


@pytest.mark.parametrize(
    "shape", [("torus",), ("torus", 0, 4), ("switched", 1, 8), ("torus", 4, 4, "network"), ()]
)
def test_a_shape_that_is_not_there_is_only_a_claim(
    torus: Callable[..., Topology], shape: tuple[str | int, ...]
) -> None:
    claimed = msgspec.structs.replace(torus((4, 4)), shape=shape)
    assert summarise(claimed)["diameter"] == 4
    ET.fromstring(svg(claimed))


@pytest.mark.parts
@pytest.mark.parametrize("name", ["trn1-ultracluster:3", "u-trn2x64", "trn3-gen1-ultraserver", "torus"])
def test_the_order_of_links_says_nothing(
    torus: Callable[..., Topology], registry: Registry, name: str
) -> None:
    """What is seen at a glance where links stand in the builders' order is found without it as well."""
    ordered = torus((4, 3, 2)) if name == "torus" else registry.system(name).topology()
    links = list(ordered.links)
    Random(1).shuffle(links)
    found, expected = summarise(msgspec.structs.replace(ordered, links=tuple(links))), summarise(ordered)
    # How many kinds of island were told apart is how it was done, not what was found.
    assert found | {"distance_method": ""} == expected | {"distance_method": ""}


@pytest.mark.parts
def test_one_link_that_is_missing_is_seen(registry: Registry) -> None:
    whole = registry.system("trn1-ultracluster:3").topology()
    for cls, transitive in (("neuronlink", False), ("host", True)):
        gone = next(i for i, link in enumerate(whole.links) if link.cls == cls)
        found = summarise(
            msgspec.structs.replace(whole, links=(*whole.links[:gone], *whole.links[gone + 1 :]))
        )
        assert (found["symmetric"], found["connected"], found["transitive"]) == (False, False, transitive)


def test_an_odd_number_of_servers_of_one_device(link_class: Callable[..., LinkClass]) -> None:
    """The server in the middle has no halves."""
    assembly = Assembly("pairs")
    devices = [[assembly.add(f"d{i}", NodeKind.DEVICE, (i,), i)] for i in range(3)]
    assembly.declare(link_class("pcie", LinkKind.PCIE), link_class("efa", LinkKind.EFA))
    server = Server.plain(1)
    add_servers(assembly, devices, server, host_cls="pcie", adapter_cls="pcie", network_cls="efa")
    found = bisection(assembly.finish(("single", 1, "network", 3)))
    assert found is not None
    assert (found.cables, found.one_way, found.exact) == (1, 1.5e9, False)


def test_two_cables_between_the_same_devices_are_two(link_class: Callable[..., LinkClass]) -> None:
    assembly = Assembly("pair")
    assembly.declare(link_class("cable"), msgspec.structs.replace(link_class("slow"), bandwidth=_HALF))
    nodes = [assembly.add(f"d{i}", NodeKind.DEVICE, (i,)) for i in range(4)]
    for one, other, cls in ((0, 1, "cable"), (0, 1, "cable"), (2, 3, "slow"), (1, 2, "slow"), (3, 0, "slow")):
        assembly.join(nodes[one], nodes[other], cls)
    found = bisection(assembly.finish(("ring", 4)))
    assert found is not None
    assert (found.cables, found.one_way, found.method) == (2, 1e9, "every halving tried")
