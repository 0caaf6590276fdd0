"""The graphs of the documented systems, against what the documents print."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from stored_run import text_of

from trnbench.errors import TopologyError
from trnbench.registry import Registry
from trnbench.topology.graph import LinkKind, NodeKind, Topology, neighbour_table, shape_words
from trnbench.topology.isomorphism import hypercube_adjacency, hypercube_mapping
from trnbench.topology.properties import properties

pytestmark = pytest.mark.parts

Build = Callable[..., Topology]

RECORDED = Path(__file__).parents[1] / "neuron" / "recorded" / "neuron_ls_trn2.json"
NEURON_LS = {each["neuron_device"]: each["connected_to"] for each in json.loads(RECORDED.read_text())}


def joined(topology: Topology, kind: NodeKind) -> dict[str, list[str]]:
    """For every node of `kind` the devices on it."""
    return {
        node.name: [
            topology.nodes[link.dst].name
            for link in topology.out[node.id]
            if link.dst < len(topology.devices)
        ]
        for node in topology.of_kind(kind)
    }


@pytest.mark.parametrize("name", ["trn1.32xlarge", "trn1n.32xlarge", "trn2-16.48xlarge"])
def test_neighbours_in_the_order_of_neuron_ls(built: Build, name: str) -> None:
    topology = built(name)
    assert dict(enumerate(neighbour_table(topology))) == NEURON_LS
    assert [device.coord for device in topology.devices] == [divmod(d, 4) for d in range(16)]


@pytest.mark.parametrize("name", ["trn1.32xlarge", "trn1n.32xlarge", "trn2-16.48xlarge"])
def test_the_4_by_4_torus(built: Build, name: str) -> None:
    found = properties(built(name))
    assert found.cables["neuronlink"] == 32
    assert found.degree == (4, 4)
    assert found.distances.diameter == 4
    assert found.bisection.cables == 8
    assert len(found.cycles) == 2
    assert (found.connected, found.symmetric, found.transitive) == (True, True, True)


def test_it_is_the_4d_hypercube(built: Build) -> None:
    topology = built("trn1.32xlarge")
    mapping = hypercube_mapping(topology)
    assert mapping == (0, 1, 3, 2, 4, 5, 7, 6, 12, 13, 15, 14, 8, 9, 11, 10)
    cube = hypercube_adjacency(4)
    for device, neighbours in NEURON_LS.items():
        assert {mapping[n] for n in neighbours} == cube[mapping[device]]
        assert all((mapping[n] ^ mapping[device]).bit_count() == 1 for n in neighbours)


def test_hosts_and_shared_adapters_of_trn1(built: Build) -> None:
    topology = built("trn1.32xlarge")
    assert joined(topology, NodeKind.HOST) == {
        "numa0": ["d0", "d1", "d4", "d5", "d8", "d9", "d12", "d13"],
        "numa1": ["d2", "d3", "d6", "d7", "d10", "d11", "d14", "d15"],
    }
    assert joined(topology, NodeKind.ADAPTER) == {f"efa{k}": [f"d{2 * k}", f"d{2 * k + 1}"] for k in range(8)}


def test_hosts_and_adapters_of_trn2(built: Build) -> None:
    topology = built("trn2-16.48xlarge")
    assert joined(topology, NodeKind.HOST)["numa0"] == [f"d{d}" for d in range(4, 12)]
    assert joined(topology, NodeKind.ADAPTER) == {f"efa{d}": [f"d{d}"] for d in range(16)}


def test_trn1n_has_an_adapter_per_device(built: Build) -> None:
    assert len(built("trn1n.32xlarge").of_kind(NodeKind.ADAPTER)) == 16


def test_a_single_device_has_a_host_and_nothing_else(built: Build) -> None:
    topology = built("trn1.2xlarge")
    assert [node.name for node in topology.nodes] == ["d0", "host"]
    assert shape_words(topology) == "a single device"
    found = properties(topology)
    assert (found.degree, found.bisection, found.cycles) == ((0, 0), None, ())


def test_inf2_is_a_ring_or_a_chain(built: Build) -> None:
    ring = neighbour_table(built("inf2.48xlarge"))
    assert ring == [[(d - 1) % 12, (d + 1) % 12] for d in range(12)]
    chain = neighbour_table(built("inf2.24xlarge"))
    assert chain == [[1], [0, 2], [1, 3], [2, 4], [3, 5], [4]]


def test_the_trn2_ultraserver_is_a_4_by_4_by_4_torus(built: Build, torus: Build) -> None:
    topology = built("u-trn2x64")
    devices = topology.devices
    assert [device.coord for device in devices] == [
        (i, r, c) for i in range(4) for r in range(4) for c in range(4)
    ]
    assert [set(n) for n in neighbour_table(topology)] == [set(n) for n in neighbour_table(torus((4, 4, 4)))]
    # Links inside the instance come first, in the order of neuron-ls; then the ring of the instances.
    assert neighbour_table(topology)[16 + 5] == [16 + n for n in NEURON_LS[5]] + [5, 32 + 5]
    classes = [link.cls for link in topology.out[21] if link.dst < 64]
    assert classes == ["neuronlink"] * 4 + ["neuronlink-inter"] * 2
    found = properties(topology)
    assert found.distances.diameter == 6
    assert len(found.cycles) == 3
    assert len(found.hypercube) == 64


def test_trn3_gen1_switches_and_direct_links(built: Build) -> None:
    topology = built("trn3-gen1-ultraserver")
    servers = {s: [d.name for d in topology.devices if d.host == s] for s in range(4)}
    assert joined(topology, NodeKind.SWITCH) == {
        "sw-a": servers[0] + servers[1],
        "sw-b": servers[2] + servers[3],
    }
    direct = {(link.src, link.dst) for link in topology.links if link.cls == "direct"}
    assert direct == {(d, (d + 32) % 64) for d in range(64)}
    assert all(len(servers[s]) == 16 for s in range(4))


def test_trn3_gen2_switches_and_direct_links(built: Build) -> None:
    topology = built("trn3-gen2-ultraserver")
    switches = joined(topology, NodeKind.SWITCH)
    assert len(switches) == 38
    assert switches["s7.sw"] == ["s7.d0", "s7.d1", "s7.d2", "s7.d3"]
    assert switches["sw-a"] == [f"s{s}.d{i}" for s in range(18) for i in range(4)]
    assert switches["sw-b"] == [f"s{s}.d{i}" for s in range(18, 36) for i in range(4)]
    direct = {
        (topology.nodes[link.src].name, topology.nodes[link.dst].name)
        for link in topology.links
        if link.cls == "direct"
    }
    one_way = {(f"s{s}.d{i}", f"s{s + 18}.d{i}") for s in range(18) for i in range(4)}
    assert direct == one_way | {(b, a) for a, b in one_way}
    assert topology.by_name["s20.d3"].coord == (1, 2, 3)
    found = properties(topology)
    assert found.degree == (3, 3)
    assert (found.bisection.cables, found.bisection.one_way, found.bisection.exact) == (72, 72 * 128e9, True)


@pytest.mark.parametrize("size", [1, 2, 3, 64])
def test_ultraclusters_of_any_size(built: Build, size: int) -> None:
    topology = built(f"trn1-ultracluster:{size}")
    assert len(topology.devices) == 16 * size
    assert [device.id for device in topology.devices] == list(range(16 * size))
    assert len(topology.of_kind(NodeKind.ADAPTER)) == 8 * size
    assert len(topology.of_kind(NodeKind.NETWORK)) == 1
    assert {device.host for device in topology.devices} == set(range(size))
    inside = [[n - n // 16 * 16 for n in row] for row in neighbour_table(topology)]
    assert inside == list(NEURON_LS.values()) * size
    found = properties(topology)
    assert found.connected
    assert found.symmetric
    assert found.distances.diameter == 4
    if size % 2 == 0:
        assert found.bisection.one_way == size / 2 * 800e9 / 8
        assert found.bisection.exact


def test_the_full_cluster_is_built_in_about_a_second(built: Build) -> None:
    start = time.process_time()
    topology = built("trn1-ultracluster")
    assert len(topology.devices) == 30_000
    assert len(topology.nodes) == 30_000 + 1875 * (2 + 8) + 1
    assert time.process_time() - start < 8  # 0.2 s on an idle core


def test_a_cluster_of_no_instance_is_refused(registry: Registry) -> None:
    system = msgspec.structs.replace(registry.system("trn1-ultracluster"), size=0)
    assert text_of(TopologyError, system.topology) == (
        "trn1-ultracluster: a cluster of 0 instances cannot be built\n"
        "  cause: its size counts instances and is 1 or more\n"
        "  try:   trn1-ultracluster:64"
    )


@pytest.mark.parametrize(
    ("name", "cores"),
    [("trn1.2xlarge", 2), ("trn1.32xlarge", 32), ("trn2-16.48xlarge", 128), ("trn3-gen2-ultraserver", 1152)],
)
def test_devices_open_into_cores(built: Build, name: str, cores: int) -> None:
    topology = built(name, cores=True)
    found = topology.of_kind(NodeKind.CORE)
    assert len(found) == cores
    for core in found:
        (link,) = topology.out[core.id]
        assert topology.nodes[link.dst].name == core.name.rpartition(".")[0]
        assert topology.classes[link.cls].kind is LinkKind.ON_CHIP


def test_every_figure_says_its_arithmetic(built: Build, registry: Registry) -> None:
    """That it names its origin, plugins/testing asks of all that trnbench brings."""
    for name in registry.instance_names():
        for each in built(name).classes.values():
            assert each.bandwidth.formula
            assert each.latency.formula


RENTED = (
    "trn2.3xlarge",
    "trn2n.48xlarge",
    "trn3.3xlarge",
    "trn3pd98.3xlarge",
    "trn3.48xlarge",
    "trn3pds98.48xlarge",
)


def test_every_instance_that_a_published_point_names_is_a_system(registry: Registry) -> None:
    named: set[str] = set()
    for generation in registry.generations.values():
        for file in (generation.points_file, generation.steps_file):
            if file is not None:
                hardware = re.findall(r'^hardware = "(.*)"$', file.read_text(), re.MULTILINE)
                named.update(re.findall(r"(?:trn|inf)\d\w*\.\w+", " ".join(hardware)))
    assert {"trn2.3xlarge", "trn3.3xlarge", "trn3pd98.3xlarge", "trn3pds98.48xlarge"} <= named
    assert named - set(registry.instance_names(aliases=True)) == set()


@pytest.mark.parametrize("name", RENTED)
def test_what_no_document_gives_of_a_rented_instance_is_said(built: Build, registry: Any, name: str) -> None:
    assert not registry.instance(name)[1].default
    assert any("no document gives" in note for note in built(name).notes)


def test_a_trn3_instance_is_one_server_of_gen1(built: Build) -> None:
    topology = built("trn3.48xlarge")
    assert joined(topology, NodeKind.SWITCH) == {"sw": [f"d{i}" for i in range(16)]}
    assert topology.classes["switch"].bandwidth.value == 576e9
    assert len(topology.of_kind(NodeKind.ADAPTER)) == 16
    assert not built("trn3pds98.48xlarge").of_kind(NodeKind.ADAPTER)
    assert not built("trn2n.48xlarge").of_kind(NodeKind.ADAPTER)
