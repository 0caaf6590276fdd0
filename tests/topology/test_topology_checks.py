"""Checks that must fail on graphs that are wrong, and must not on those that are right."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from trnbench.errors import TopologyError
from trnbench.facts.fact import FactBook
from trnbench.registry import Registry
from trnbench.topology.builder import Assembly
from trnbench.topology.checks import Check, Expected, Verdict, check_topology, expected_of, failed
from trnbench.topology.graph import Budget, Figure, Link, LinkClass, LinkKind, NodeKind, Topology

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
def test_every_system_is_what_its_documents_say(
    registry: Registry, built: Build, name: str, direction: str
) -> None:
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
def test_a_missing_direction_fails(built: Build) -> None:
    whole = built("trn1.32xlarge")
    links = tuple(link for link in whole.links if (link.src, link.dst) != (3, 7))
    found = verdicts(msgspec.structs.replace(whole, links=links))
    assert found["symmetry"] == Check(
        name="symmetry",
        verdict=Verdict.FAILED,
        detail="1 links have no way back, the first is d7 → d3",
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
    assert found["symmetry"].verdict is Verdict.OK
    assert found["“4D-HyperCube”"].verdict is Verdict.FAILED
    assert found["neighbour table of rt-tips"].verdict is Verdict.FAILED


def test_a_graph_in_two_parts_fails(torus: Build) -> None:
    whole = torus((6,))
    links = tuple(link for link in whole.links if {link.src, link.dst} not in ({0, 5}, {2, 3}))
    found = verdicts(msgspec.structs.replace(whole, links=links, shape=("graph",)))
    assert found["connectivity"] == Check(
        name="connectivity",
        verdict=Verdict.FAILED,
        detail="the graph falls into 2 parts; d3 is cut off from the first",
    )


def test_a_host_is_no_way_between_devices(link_class: Callable[..., LinkClass]) -> None:
    assembly = Assembly("split")
    for i in range(2):
        assembly.add(f"d{i}", NodeKind.DEVICE, (i,))
    host = assembly.add("host", NodeKind.HOST)
    assembly.declare(link_class("pcie", LinkKind.PCIE, level=2))
    for i in range(2):
        assembly.join(i, host, "pcie")
    found = verdicts(assembly.finish(("graph",)))
    assert found["connectivity"].detail == (
        "no route leads from d0 to 1 devices, the first is d1; only a host joins them"
    )


@pytest.mark.parts
def test_a_count_that_no_document_gives_fails(built: Build) -> None:
    expected = Expected(counts={"device": ((12, "page-a"), (8, "page-b"))})
    found = verdicts(built("trn1.32xlarge"), expected)["number of devices"]
    assert found.verdict is Verdict.FAILED
    assert found.detail == "16 in the graph; documents say 12 (page-a), 8 (page-b)"


@pytest.mark.parts
def test_documents_that_disagree_are_named(built: Build) -> None:
    expected = Expected(counts={"device": ((16, "page-a"), (8, "page-b"))})
    found = verdicts(built("trn1.32xlarge"), expected)["number of devices"]
    assert found.verdict is Verdict.OK
    assert found.detail == "16 in the graph, as page-a says; documents also say 8 (page-b)"


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


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda a: a.add("d0", NodeKind.HOST), "two nodes are called 'd0'"),
        (
            lambda a: (a.add("host", NodeKind.HOST), a.add("d9", NodeKind.DEVICE)),
            "device 'd9' was added after other nodes",
        ),
        (lambda a: a.send(0, 7, "cable"), "a link joins node 0 to node 7, there are 2 nodes"),
        (lambda a: a.send(1, 1, "cable"), "a link joins 'd1' to itself"),
        (lambda a: a.send(0, 1, "rope"), "link class 'rope' was never declared"),
        (lambda a: a.nodes.clear(), "no device was added"),
    ],
)
def test_builders_are_told_their_mistakes(
    link_class: Callable[..., LinkClass], spoil: Callable[[Assembly], object], what: str
) -> None:
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
