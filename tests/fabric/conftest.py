"""Small networks with round figures, and a check that data ends up where a collective promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pytest

from trnbench.topology.builder import Assembly, connect_switch, connect_torus, positions
from trnbench.topology.graph import Figure, LinkClass, LinkKind, NodeKind, Topology
from trnbench_emulator.fabric.algorithms.algorithm import Algorithm
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Step

BANDWIDTH = 128e9
LATENCY = 1e-6


def link(
    name: str = "nl", bandwidth: float = BANDWIDTH, latency: float = LATENCY, level: int = 0
) -> LinkClass:
    return LinkClass(
        name=name,
        kind=LinkKind.NEURONLINK,
        bandwidth=Figure(value=bandwidth, origin="test"),
        latency=Figure(value=latency, origin="test"),
        level=level,
    )


def torus_graph(*dims: int, bandwidth: float = BANDWIDTH, latency: float = LATENCY) -> Topology:
    parts = Assembly("torus " + "x".join(map(str, dims)))
    parts.declare(link(bandwidth=bandwidth, latency=latency))
    nodes = [parts.add(f"d{i}", NodeKind.DEVICE, at) for i, at in enumerate(positions(dims))]
    connect_torus(parts, nodes, dims, "nl")
    return parts.finish(("torus", *dims))


def switch_graph(count: int, bandwidth: float = 1024e9, latency: float = 0.5e-6) -> Topology:
    parts = Assembly(f"switch {count}")
    parts.declare(link(bandwidth=bandwidth, latency=latency))
    nodes = [parts.add(f"d{i}", NodeKind.DEVICE, (i,)) for i in range(count)]
    switch = parts.add("sw", NodeKind.SWITCH)
    connect_switch(parts, switch, nodes, "nl")
    return parts.finish(("switch", count))


@pytest.fixture(scope="session")
def torus() -> Callable[..., Network]:
    return lambda *dims, **figures: Network(torus_graph(*dims, **figures))


@pytest.fixture(scope="session")
def switch() -> Callable[..., Network]:
    return lambda count, **figures: Network(switch_graph(count, **figures))


@pytest.fixture(scope="session", name="delivers")
def delivers_fixture() -> Callable[[Network, Algorithm, str], None]:
    return delivers


REVERSED = {"reduce_scatter": "all_gather", "reduce": "broadcast"}
HALVES = (("reduce_scatter", "all_gather"), ("reduce", "broadcast"))
SIZE = 2.0**26


def delivers(network: Network, algorithm: Algorithm, collective: str) -> None:
    """Asserts that the messages of the plan, no more and no fewer, can bring every block where `collective`
    promises it.
    """
    ranks = range(network.size)
    chains = algorithm.schedule(network, collective, SIZE).chains
    halves = [half for half in HALVES if collective == "all_reduce" and {*half} < {*algorithm.collectives}]
    if halves:  # what is reduced is then handed out
        plans = [algorithm.schedule(network, half, SIZE).chains for half in halves[0]]
        assert list(chains) == [(*first, *then) for first, then in zip(*plans, strict=True)]
        for half in halves[0]:
            delivers(network, algorithm, half)
    elif collective in ("all_to_all", "permute"):
        moves = [move for chain in chains for step in chain for move in step.moves * step.times]
        pairs = sorted(pair for move in moves for pair in network.pairs_of(move))
        if collective == "all_to_all":
            assert pairs == [(src, dst) for src in ranks for dst in ranks if src != dst]
        else:
            assert sorted(src for src, _ in pairs) == sorted(dst for _, dst in pairs) == list(ranks)
            assert all(src != dst for src, dst in pairs)
        size = SIZE / network.size if collective == "all_to_all" else SIZE
        assert {move.size for move in moves} == {size}
    else:
        whole = sum(_delivered(network, algorithm.name, collective, chain) for chain in chains)
        assert whole == pytest.approx(SIZE)


def _delivered(network: Network, name: str, collective: str, chain: Sequence[Step]) -> float:
    """Bytes of the buffer that one chain takes care of.

    A reduction is a distribution backwards: each rank sends each of its sums once, where that one would
    receive the block.
    """
    ranks = range(network.size)
    steps = [step.moves for step in chain for _ in range(step.times)]
    unit = min(move.size for moves in steps for move in moves)
    blocks = 1 if unit == SIZE else network.size
    backwards = collective in REVERSED
    if backwards:
        steps.reverse()
    held = [{rank} for rank in ranks]
    if name == "scatter-gather":  # the root sends every rank its block, then all gather
        (scatter,) = steps.pop(0)
        ends = [pair[::-1] if backwards else pair for pair in network.pairs_of(scatter)]
        assert ends == [(0, rank) for rank in ranks[1:]]
        assert scatter.size == pytest.approx(unit)
    elif REVERSED.get(collective, collective) == "broadcast":
        held = [set() for _ in ranks]
        held[0] = set(range(blocks))
    elif collective == "all_reduce":  # everyone sends all it has to everyone
        blocks = network.size
        unit = SIZE / blocks
        assert all(move.size == SIZE for moves in steps for move in moves)
        steps = [[msgspec.structs.replace(move, size=unit) for move in moves] for moves in steps]
    for moves in steps:
        before = [each.copy() for each in held]
        for move in moves:
            # What costs no access at one end is passed on in the step in which it comes.
            source = held if 0.0 in (move.reads, move.writes) else before
            count = round(move.size / unit)
            assert move.size == pytest.approx(count * unit)
            for pair in network.pairs_of(move):
                src, dst = pair[::-1] if backwards else pair
                lacking = sorted(source[src] - held[dst])
                assert len(lacking) >= count, f"rank {src} has nothing more to send to rank {dst}"
                held[dst].update(lacking[:count])
    assert all(len(each) == blocks for each in held)
    return unit * blocks
