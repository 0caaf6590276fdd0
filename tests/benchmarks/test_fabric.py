"""How long the fabric model itself takes: budgets of the issue, growth by ranks and by size."""

from __future__ import annotations

import resource
import time
from typing import Any

import pytest

from trnbench.emulator.fabric.algorithms import ALGORITHMS
from trnbench.emulator.fabric.algorithms.algorithm import NotPossible
from trnbench.emulator.fabric.collective import run
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.solve import solve
from trnbench.emulator.fabric.systems import Fabric
from trnbench.registry import Registry, load_registry
from trnbench.topology.builders.assembly import Assembly
from trnbench.topology.builders.lattice import positions
from trnbench.topology.builders.switch import connect_switch
from trnbench.topology.builders.torus import connect_torus
from trnbench.topology.graph import Figure, LinkClass, LinkKind, NodeKind, Topology

SYSTEMS = (
    "trn1.32xlarge",
    "trn2-16.48xlarge",
    "u-trn2x64",
    "trn3-gen1-ultraserver",
    "trn3-gen2-ultraserver",
    "trn1-ultracluster",
)
EIGHT = (
    "ring",
    "bucket",
    "mesh",
    "rdh",
    "kangaring",
    "switch-direct",
    "switch-direct-all",
    "hierarchical-ring",
)
SLACK = 2.0
"""Budgets are for an idle machine of two cores; a busy one is given this much more."""


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


def graph(kind: str, count: int) -> Topology:
    parts = Assembly(f"{kind} {count}")
    figure = Figure(value=128e9, origin="test")
    latency = Figure(value=1e-6, origin="test")
    parts.declare(LinkClass(name="nl", kind=LinkKind.NEURONLINK, bandwidth=figure, latency=latency))
    dims = (count,) if kind == "switch" else (32, count // 32)
    nodes = [parts.add(f"d{i}", NodeKind.DEVICE, at) for i, at in enumerate(positions(dims))]
    if kind == "switch":
        connect_switch(parts, "sw", nodes, "nl")
    else:
        connect_torus(parts, nodes, dims, "nl")
    return parts.finish((kind, *dims))


def all_to_all(topology: Topology) -> float:
    network = Network(topology)
    return solve(network, ALGORITHMS["direct"].schedule(network, "all_to_all", 2.0**30)).time_s


def best_of(call: Any, times: int = 3) -> float:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def test_all_to_all_on_144_devices(registry: Registry, benchmark: Any) -> None:
    topology = registry.system("trn3-gen2-ultraserver").topology()
    benchmark.pedantic(all_to_all, args=(topology,), rounds=3)
    assert best_of(lambda: all_to_all(topology)) <= 0.05 * SLACK


@pytest.mark.parametrize("kind", ["torus", "switch"])
def test_all_to_all_on_1024_devices(kind: str, benchmark: Any) -> None:
    topology = graph(kind, 1024)
    benchmark.pedantic(all_to_all, args=(topology,), rounds=2)
    assert best_of(lambda: all_to_all(topology)) <= 1.0 * SLACK


def test_all_reduce_on_30000_devices(registry: Registry, benchmark: Any) -> None:
    system = registry.system("trn1-ultracluster")
    found = benchmark.pedantic(lambda: run(Fabric(system), "all_reduce", 2.0**30), rounds=3)
    assert found.ranks == 30_000
    assert best_of(lambda: run(Fabric(system), "all_reduce", 2.0**30)) <= 1.0 * SLACK


def test_twenty_sizes_of_eight_algorithms_on_all_systems(registry: Registry, benchmark: Any) -> None:
    systems = [registry.system(name) for name in SYSTEMS]

    def sweep() -> int:
        done = 0
        for system in systems:
            fabric = Fabric(system)
            for name in EIGHT:
                for power in range(11, 31):
                    try:
                        run(fabric, "all_reduce", 2.0**power, algorithm=name)
                    except NotPossible:
                        break
                    done += 1
        return done

    start = time.perf_counter()
    assert benchmark.pedantic(sweep, rounds=1) >= 500
    assert time.perf_counter() - start <= 10.0 * SLACK


def test_growth_by_ranks_and_by_size() -> None:
    """Ranks to the power of two at most (a rank has a route to every other); sizes cost nothing."""
    small, large = (best_of(lambda n=n: all_to_all(graph("torus", n))) for n in (256, 1024))
    assert large <= 32 * small
    network = Network(graph("torus", 256))
    bucket = ALGORITHMS["bucket"]
    times = [
        best_of(lambda size=size: solve(network, bucket.schedule(network, "all_reduce", size)))
        for size in (2.0**10, 2.0**34)
    ]
    assert times[1] <= 5 * times[0]


def test_memory_stays_below_a_gibibyte() -> None:
    all_to_all(graph("torus", 1024))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 <= 2**30
