"""Small networks with round figures, and a check that data ends up where a collective promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from trnbench.topology.builder import Assembly, connect_switch, connect_torus, positions
from trnbench.topology.graph import Figure, LinkClass, LinkKind, NodeKind, Topology
from trnbench_emulator.fabric.algorithms.algorithm import Transfer
from trnbench_emulator.fabric.network import Network

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
def delivers_fixture() -> Callable[[str, int, Iterable[list[Transfer]]], None]:
    return delivers


def delivers(collective: str, n: int, steps: Iterable[list[Transfer]]) -> None:
    """Moves real blocks and asserts that every rank holds what `collective` promises.

    A block's value is the set of ranks summed into it, one bit each; adding the same rank twice is an error,
    and so is sending a block that is not there.
    """
    steps = list(steps)
    blocks = sorted({b for step in steps for move in step for b in move.blocks})
    everyone = (1 << n) - 1

    def at_start(rank: int, block: int) -> int | None:
        if collective in ("all_reduce", "reduce_scatter", "reduce"):
            return 1 << rank
        owner = {"all_gather": block % n, "permute": block, "all_to_all": block // n, "broadcast": 0}[
            collective
        ]
        return 1 << owner if owner == rank else None

    held = [{b: at_start(r, b) for b in blocks} for r in range(n)]
    for step in steps:
        after: dict[tuple[int, int], int] = {}  # what the step changes: all sends come before it
        for move in step:
            for b in move.blocks:
                value = held[move.src][b]
                assert value is not None, f"rank {move.src} sends block {b} that it does not hold"
                if move.add:
                    there = after.get((move.dst, b), held[move.dst][b])
                    assert there is not None
                    assert not there & value, f"block {b} at rank {move.dst}: a rank is added twice"
                    value = there | value
                after[move.dst, b] = value
        for (rank, b), value in after.items():
            held[rank][b] = value
    for rank in range(n):
        for b in blocks:
            if (
                collective == "all_reduce"
                or (collective == "reduce_scatter" and b % n == rank)
                or (collective == "reduce" and rank == 0)
            ):
                assert held[rank][b] == everyone
            elif collective == "all_gather":
                assert held[rank][b] == 1 << b % n
            elif collective == "broadcast":
                assert held[rank][b] == 1
            elif collective == "permute":
                assert held[rank][b] in (None, 1 << b)
            elif collective == "all_to_all" and b % n == rank:
                assert held[rank][b] == 1 << b // n
    if collective == "permute":  # one message each, of somebody else, and all of them different
        came = [[b for b in blocks if held[rank][b] is not None and b != rank] for rank in range(n)]
        assert sorted(b for each in came for b in each) == list(range(n))
        assert all(len(each) == 1 for each in came)
    assert blocks
