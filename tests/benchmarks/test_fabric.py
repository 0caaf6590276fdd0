"""How long the fabric model itself takes: its budgets, in processor time, and growth by ranks and by size.

`pytest tests/benchmarks/test_fabric.py --benchmark-only` prints the growth as one table per group.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import msgspec
import pytest

from trnbench.generation import System
from trnbench.registry import Registry
from trnbench.topology.builder import Assembly, connect_switch, connect_torus, positions
from trnbench.topology.graph import Figure, LinkClass, LinkKind, NodeKind, Topology
from trnbench_emulator.fabric.algorithms import ALGORITHMS
from trnbench_emulator.fabric.algorithms.algorithm import NotPossible
from trnbench_emulator.fabric.answer import Answer
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.question import Question
from trnbench_emulator.fabric.solve import solve
from trnbench_emulator.fabric.systems import MOST_EFFORT, fabric_of

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
"""Budgets are for an idle machine of two cores; one that shares its caches is given this much more."""
SQUARES = {16: (4, 4), 64: (8, 8), 256: (16, 16), 1024: (32, 32)}


def graph(kind: str, count: int) -> Topology:
    parts = Assembly(f"{kind} {count}")
    figure = Figure(value=128e9, origin="test")
    latency = Figure(value=1e-6, origin="test")
    parts.declare(LinkClass(name="nl", kind=LinkKind.NEURONLINK, bandwidth=figure, latency=latency))
    dims = (count,) if kind == "switch" else SQUARES[count]
    nodes = [parts.add(f"d{i}", NodeKind.DEVICE, at) for i, at in enumerate(positions(dims))]
    if kind == "switch":
        connect_switch(parts, "sw", nodes, "nl")
    else:
        connect_torus(parts, nodes, dims, "nl")
    return parts.finish((kind, *dims))


def fresh(system: System) -> System:
    """The same, for which nothing was built or answered before."""
    return msgspec.structs.replace(system, costs=dict(system.costs))


def all_reduced(system: System, algorithm: str = "auto") -> Answer:
    question = Question(collective="all_reduce", size=2.0**30, system=fresh(system), algorithm=algorithm)
    answer = ask(question)
    assert answer.waterfall.total > 0
    return answer


def all_to_all(topology: Topology) -> float:
    network = Network(topology)
    return solve(network, ALGORITHMS["direct"].schedule(network, "all_to_all", 2.0**30)).time_s


def best_of(call: Any, times: int = 3) -> float:
    """Processor seconds of the quickest."""
    found = []
    for _ in range(times):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
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
    found = benchmark.pedantic(lambda: all_reduced(system), rounds=3)
    assert found.ranks == 30_000
    assert best_of(lambda: all_reduced(system)) <= 1.0 * SLACK


def test_twenty_sizes_of_eight_algorithms_on_all_systems(registry: Registry, benchmark: Any) -> None:
    systems = [fresh(registry.system(name)) for name in SYSTEMS]

    def sweep() -> int:
        done = 0
        for system in systems:
            fabric = fabric_of(system)
            for name in EIGHT:
                for power in range(11, 31, 1 if benchmark.enabled else 5):
                    try:
                        ask(fabric.question("all_reduce", 2.0**power, algorithm=name))
                    except NotPossible:
                        break
                    done += 1
        return done

    start = time.process_time()
    assert benchmark.pedantic(sweep, rounds=1) >= (500 if benchmark.enabled else 100)
    assert time.process_time() - start <= 10.0 * SLACK


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


@pytest.mark.benchmark(group="fabric: all-to-all by ranks")
@pytest.mark.parametrize("ranks", SQUARES)
@pytest.mark.parametrize("kind", ["torus", "switch"])
def test_all_to_all_by_ranks(kind: str, ranks: int, benchmark: Any) -> None:
    topology = graph(kind, ranks)
    benchmark.extra_info["ranks"] = ranks
    assert benchmark.pedantic(all_to_all, args=(topology,), rounds=3) > 0


@pytest.mark.benchmark(group="fabric: ring with one slow link, by ranks")
@pytest.mark.parametrize("ranks", SQUARES)
def test_uneven_ring_by_ranks(ranks: int, benchmark: Any) -> None:
    """No translation is left: flows are told apart, one of each class is simulated."""
    topology = graph("torus", ranks)
    first = topology.links[0]

    def ring() -> float:
        network = Network(topology, scale={(first.src, first.dst): 0.5})
        schedule = ALGORITHMS["ring-1"].schedule(network, "all_reduce", 2.0**30)
        return solve(network, schedule, most=MOST_EFFORT).time_s

    benchmark.extra_info["ranks"] = ranks
    assert benchmark.pedantic(ring, rounds=3) > 0


@pytest.mark.benchmark(group="fabric: all-reduce on 16 devices, by size")
@pytest.mark.parametrize("power", [3, 13, 23, 33])
def test_all_reduce_by_size(registry: Registry, power: int, benchmark: Any) -> None:
    fabric = fabric_of(registry.system("trn2-16.48xlarge"))
    benchmark.extra_info["bytes"] = 2**power
    # Another size every time: an answer that was kept would cost nothing.
    sizes = iter(2.0**power * (1 + k / 1000) for k in range(1000))
    found = benchmark.pedantic(lambda: ask(fabric.question("all_reduce", next(sizes))).waterfall, rounds=5)
    assert found.total > 0


@pytest.mark.benchmark(group="fabric: flat ring of a cluster, by instances")
@pytest.mark.parametrize("instances", [2, 64, 1875])
def test_flat_ring_by_instances(registry: Registry, instances: int, benchmark: Any) -> None:
    """Steps grow with the ranks, 59,998 for all; one rhythm of them is simulated."""
    system = registry.system(f"trn1-ultracluster:{instances}")
    found = benchmark.pedantic(lambda: all_reduced(system, "ring"), rounds=3)
    assert found.ranks == 16 * instances


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_stays_below_a_gibibyte() -> None:
    """Of a process that does nothing else."""
    script = (
        "import importlib.util, sys\n"
        "spec = importlib.util.spec_from_file_location('here', sys.argv[1])\n"
        "here = importlib.util.module_from_spec(spec); spec.loader.exec_module(here)\n"
        "here.all_to_all(here.graph('torus', 1024))\n"
        # The most this process had; getrusage would also count what its parent had at the fork.
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, __file__], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) * 1024 <= 2**30
