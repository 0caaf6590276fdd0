"""Checks that must fail on graphs that are wrong, and must not on those that are right."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest
from fact_rows import fact
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.errors import TopologyError
from trnbench.facts.fact import Fact, FactBook
from trnbench.registry import Registry
from trnbench.topology.bisection import bisection
from trnbench.topology.builder import Assembly
from trnbench.topology.checks import Check, Expected, Verdict, check_topology, expected_of, failed
from trnbench.topology.draw import dot, svg
from trnbench.topology.graph import (
    Budget,
    Figure,
    Link,
    LinkClass,
    LinkKind,
    NodeKind,
    Topology,
    from_json,
    shape_words,
    to_json,
)
from trnbench.topology.listing import text
from trnbench.topology.properties import summarise

Build = Callable[..., Topology]


def verdicts(topology: Topology, expected: Expected | None = None) -> dict[str, Check]:
    return {each.name: each for each in check_topology(topology, expected or Expected())}


def expectation(registry: Registry, name: str) -> Expected:
    system = registry.system(name)
    about = system.instance
    parent = about.parent if about.sizable else ""
    return expected_of(system.book, about.name, about.device, parent=parent, size=system.size)


@pytest.mark.parts
@pytest.mark.parametrize(
    "name",
    [
        "trn1.2xlarge",
        "trn1.32xlarge",
        "trn1n.32xlarge",
        "inf2.24xlarge",
        "inf2.48xlarge",
        "trn1-ultracluster:5",
        "trn2-16.48xlarge",
        "u-trn2x64",
        "trn3-gen1-ultraserver",
        "trn3-gen2-ultraserver",
    ],
)
@pytest.mark.parametrize("direction", ["one-way", "both-ways"])
def test_every_system_is_what_its_documents_say(registry: Any, built: Any, name: str, direction: str) -> None:
    checks = check_topology(built(name, neuronlink_direction=direction), expectation(registry, name))
    assert [each for each in checks if each.verdict is Verdict.FAILED] == []
    assert len(checks) >= 4


@pytest.mark.parts
def test_both_names_of_the_seed_document_are_proven(registry: Registry, built: Build) -> None:
    found = verdicts(built("trn1.32xlarge"), expectation(registry, "trn1.32xlarge"))
    assert found["“4D-HyperCube”"].verdict is Verdict.OK
    assert found["“4D-HyperCube”"].detail.startswith("a map onto the 4D hypercube keeps every link")
    assert found["“2D Torus”"].detail.startswith("the graph is a torus of 4 × 4")
    assert found["neighbour table of rt-tips"].detail == "16 rows equal, the order of neighbours included"


@pytest.mark.parts
def test_what_there_is_one_of_is_no_plural(built: Build) -> None:
    single = verdicts(built("trn1.2xlarge"))
    assert single["connectivity"].detail == "there is one device"
    server = built("trn3.48xlarge")
    assert shape_words(server) == "switched, 1 server of 16"
    ports = verdicts(server, Expected(ports=((4, "page"), (1, "other"))))["ports of a device"]
    assert ports.detail == "1 cable per device, as other says"
    for graph in (server, built("inf2.24xlarge"), built("host-ranks"), built("cuda-device")):
        words = text(graph) + "".join(check.detail for check in verdicts(graph).values())
        assert not re.search(r"(?<![\d,.])1 (cable|device|link|port|server)s\b", words)


def without(topology: Topology, *ends: tuple[int, int]) -> Topology:
    links = tuple(link for link in topology.links if (link.src, link.dst) not in ends)
    return msgspec.structs.replace(topology, links=links)


@pytest.mark.parts
def test_a_missing_direction_fails(built: Build) -> None:
    found = verdicts(without(built("trn1.32xlarge"), (3, 7)))
    assert found["symmetry"] == Check(
        name="symmetry", verdict=Verdict.FAILED, detail="1 link has no way back, the first is d7 → d3"
    )
    assert found["sum of links, NeuronLink-v2 per device"].detail == (
        "d3 has 309 GB/s, documented are 412 GB/s (trn1.32xlarge/neuronlink_bandwidth@trn1-arch);"
        " 1 of 16 differ"
    )
    assert found["neighbour table of rt-tips"].detail == (
        "device 3 has neighbours [15, 2, 0], printed are [15, 2, 7, 0]"
    )


def test_neighbours_in_another_order_fail(built: Build) -> None:
    whole = built("trn2-16.48xlarge")
    found = verdicts(msgspec.structs.replace(whole, links=whole.links[::-1]))
    assert found["symmetry"].verdict is Verdict.OK
    assert found["neighbour table of neuron-ls"].verdict is Verdict.FAILED


@pytest.mark.parts
def test_swapped_cables_are_no_torus(registry: Registry, built: Build) -> None:
    """Degree and sums stay right, the graph does not."""
    whole = built("trn1.32xlarge")

    def moved(link: Link) -> Link:
        ends = {frozenset((0, 1)): (0, 6), frozenset((5, 6)): (5, 1)}.get(frozenset((link.src, link.dst)))
        if ends is None:
            return link
        return Link(*(ends if link.src == ends[0] else ends[::-1]), link.cls)

    links = tuple(map(moved, whole.links))
    found = verdicts(msgspec.structs.replace(whole, links=links), expectation(registry, "trn1.32xlarge"))
    verdict = [found[name].verdict for name in ("symmetry", "“4D-HyperCube”", "neighbour table of rt-tips")]
    assert verdict == [Verdict.OK, Verdict.FAILED, Verdict.FAILED]


def test_a_graph_in_two_parts_fails(torus: Build) -> None:
    parts = without(torus((6,)), (0, 5), (5, 0), (2, 3), (3, 2))
    found = verdicts(msgspec.structs.replace(parts, shape=("graph",)))
    assert found["connectivity"] == Check(
        name="connectivity",
        verdict=Verdict.FAILED,
        detail="the graph falls into 2 parts; d3 is cut off from the first",
    )


def test_a_host_is_no_way_between_devices(split: Topology) -> None:
    assert verdicts(split)["connectivity"].detail == (
        "no route leads from d0 to 1 device, the first is d1; only a host joins them"
    )


def test_every_missing_direction_is_counted(torus: Build) -> None:
    broken = without(torus((4, 4)), (0, 1), (5, 6))
    sums = Budget(name="x", owner="device", classes=("axis1",), figure=Figure(value=2e9, origin="page"))
    found = verdicts(msgspec.structs.replace(broken, budgets=(sums,)))
    assert found["symmetry"].detail == "2 links have no way back, the first is d1 → d0"
    words = "d0 has 1 GB/s, documented are 2 GB/s (page); 2 of 16 differ"
    assert (found["sum of links, x"].verdict, found["sum of links, x"].detail) == (Verdict.FAILED, words)


@pytest.mark.parametrize(
    ("moved", "verdict"),
    [
        ({}, Verdict.OK),
        # Two of the four rings become one, and one of them a chain.
        ({(0, 4): (0, 5), (4, 0): (4, 1), (1, 5): (1, 4), (5, 1): (5, 0)}, Verdict.FAILED),
        ({(0, 4): (0, 1), (4, 0): (4, 5)}, Verdict.FAILED),
    ],
)
def test_rings_between_servers_are_alike(torus: Build, moved: Any, verdict: Verdict) -> None:
    """Every row of the torus is a server: a column is a ring between servers."""
    whole = torus((4, 4))
    nodes = tuple(msgspec.structs.replace(node, host=node.coord[0]) for node in whole.nodes)
    links = tuple(
        Link(*moved.get((link.src, link.dst), (link.src, link.dst)), link.cls) for link in whole.links
    )
    rows = msgspec.structs.replace(whole, nodes=nodes, links=links)
    found = verdicts(rows, Expected(names=(("ring", "page"),)))["“ring”"]
    assert (found.verdict, found.detail) == (
        verdict,
        "devices of one index in 4 instances form 4 rings (page)",
    )


@pytest.mark.parts
def test_a_count_that_no_document_gives_fails(built: Build) -> None:
    expected = Expected(counts={"device": ((12, "page-a"), (8, "page-b"))})
    found = verdicts(built("trn1.32xlarge"), expected)["number of devices"]
    words = "16 in the graph; documents say 12 (page-a), 8 (page-b)"
    assert (found.verdict, found.detail) == (Verdict.FAILED, words)


@pytest.mark.parts
def test_documents_that_disagree_are_named(built: Build) -> None:
    expected = Expected(counts={"device": ((16, "page-a"), (8, "page-b"))})
    found = verdicts(built("trn1.32xlarge"), expected)["number of devices"]
    words = "16 in the graph, as page-a says; documents also say 8 (page-b)"
    assert (found.verdict, found.detail) == (Verdict.OK, words)


def test_a_budget_without_links_fails(torus: Build) -> None:
    budget = Budget(name="x", owner="server", classes=("efa",), figure=Figure(value=1.0, origin="o"))
    found = verdicts(msgspec.structs.replace(torus((4, 4)), budgets=(budget,)))["sum of links, x"]
    assert (found.verdict, found.detail) == (Verdict.FAILED, "no link of efa exists")


def test_a_total_that_no_document_prints_fails(torus: Build) -> None:
    budget = Budget(
        name="x",
        owner="device",
        classes=("axis0", "axis1"),
        figure=Figure(value=4e9, origin="o", formula="4 × 1 GB/s"),
        readings={"page": Figure(value=9e9, origin="page")},
    )
    found = verdicts(msgspec.structs.replace(torus((4, 4)), budgets=(budget,)))["sum of links, x"]
    assert found.verdict is Verdict.FAILED
    assert found.detail == "4 GB/s = 4 × 1 GB/s; documents also say page: 9 GB/s"


@pytest.mark.parametrize(
    ("words", "verdict", "proof"),
    [
        ("4D-HyperCube", Verdict.OK, "a map onto the 4D hypercube keeps every link"),
        ("3D hypercube", Verdict.FAILED, "no such map exists"),
        ("4x4, 2D Torus", Verdict.OK, "the graph is a torus of 4 × 4"),
        ("8x2, 2D Torus", Verdict.FAILED, "the graph is a torus of 4 × 4"),
        ("3D Torus", Verdict.FAILED, "the graph is a torus of 4 × 4"),
        ("ring of 16", Verdict.FAILED, "the graph is a torus of 4 of 4"),
        ("ring", Verdict.FAILED, "devices of one index in 4 instances form 4 rings"),
        ("all-to-all", Verdict.FAILED, "over switches, at most 4 links apart; not a link for every pair"),
        ("dragonfly", Verdict.NOTE, "no rule tests this name"),
    ],
)
def test_names_are_tested(torus: Build, words: str, verdict: Verdict, proof: str) -> None:
    found = verdicts(torus((4, 4)), Expected(names=((words, "page"),)))[f"“{words}”"]
    assert (found.verdict, found.detail) == (verdict, f"{proof} (page)")


def test_failures_are_told_from_notes() -> None:
    note = Check(name="a", verdict=Verdict.NOTE, detail="")
    bad = Check(name="b", verdict=Verdict.FAILED, detail="")
    assert not failed([note])
    assert failed([note, bad])


def test_nothing_is_expected_of_an_empty_book() -> None:
    assert expected_of(FactBook(), "box", "chip") == Expected()


def test_what_is_expected_is_counted_once_for_each_part() -> None:
    def counted(subject: str, metric: str, value: float, source: str = "page") -> Fact:
        return fact(subject, metric, value, source=source)

    cores, nodes = counted("chip", "core_count", 2), counted("box", "numa_node_count", 2)
    assert expected_of(FactBook(facts=(cores, nodes)), "box", "chip", cores=True).counts == {
        "host": ((2, nodes.id),)
    }
    more = (counted("box", "device_count", 8), counted("box", "host_count", 4))
    other = counted("box", "host_count", 3, "another")
    book = FactBook(facts=(cores, nodes, *more, other))
    assert expected_of(book, "box", "chip", cores=True).counts == {
        "device": ((8, more[0].id),),
        "server": ((4, more[1].id), (3, other.id)),
        "host": ((8, nodes.id),),
        "core": ((16, cores.id),),
    }


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda a: a.add("d0", NodeKind.HOST), "two nodes are called 'd0'"),
        (
            lambda a: (a.add("host", NodeKind.HOST), a.add("d9", NodeKind.DEVICE)),
            "device 'd9' was added after other nodes",
        ),
        (lambda a: a.send(0, 2, "cable"), "a link joins node 0 to node 2, there are 2 nodes"),
        (lambda a: a.send(2, 0, "cable"), "a link joins node 2 to node 0, there are 2 nodes"),
        (lambda a: a.send(-1, 0, "cable"), "a link joins node -1 to node 0, there are 2 nodes"),
        (lambda a: a.send(0, -1, "cable"), "a link joins node 0 to node -1, there are 2 nodes"),
        (lambda a: a.send(1, 1, "cable"), "a link joins 'd1' to itself"),
        (lambda a: a.send(0, 1, "rope"), "link class 'rope' was never declared, of a link from d0 to d1"),
        (lambda a: a.nodes.clear(), "no device was added"),
    ],
)
def test_builders_are_told_their_mistakes(link_class: Any, spoil: Any, what: str) -> None:
    assembly = Assembly("box")
    for i in range(2):
        assembly.add(f"d{i}", NodeKind.DEVICE, (i,))
    assembly.declare(link_class("cable"))
    spoil(assembly)
    with pytest.raises(TopologyError) as error:
        assembly.finish(("graph",))
    assert error.value.what == f"box: {what}"
    assert error.value.cause == "a mistake in the topology builder"
    assert error.value.try_


# Graphs of plugins may claim any shape and be wired any way: nothing that looks at them may crash ----

KINDS = {"cable": LinkKind.NEURONLINK, "port": LinkKind.SWITCH, "pcie": LinkKind.PCIE, "efa": LinkKind.EFA}


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


def test_devices_without_coordinates_are_halved_in_order(link_class: Callable[..., LinkClass]) -> None:
    assembly = Assembly("box")
    for name in "abcd":
        assembly.add(name, NodeKind.DEVICE)
    assembly.add("switch", NodeKind.SWITCH)
    assembly.declare(link_class("port", LinkKind.SWITCH))
    for device in range(4):
        assembly.join(device, 4, "port")
    found = bisection(assembly.finish(("switched", 4)))
    assert found is not None
    assert found.cables == 2


@given(st.data())
@settings(max_examples=200)
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
def test_a_shape_that_is_not_there_is_only_a_claim(torus: Any, shape: tuple[str | int, ...]) -> None:
    claimed = msgspec.structs.replace(torus((4, 4)), shape=shape)
    assert summarise(claimed)["diameter"] == 4
    ET.fromstring(svg(claimed))


@pytest.mark.parts
@pytest.mark.parametrize("name", ["trn1-ultracluster:3", "u-trn2x64", "trn3-gen1-ultraserver", "torus"])
def test_the_order_of_links_says_nothing(torus: Any, registry: Registry, name: str) -> None:
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
