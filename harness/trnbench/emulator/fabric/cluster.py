"""Collectives over any number of instances, on the links of two.

All instances of a cluster are alike and hang on one network that blocks nothing. In every step below an
instance sends to one partner, or the same to each of the others, and receives as much: its own links
see the same load whoever the partners are. So two instances stand for all, and the answer is the one
of the whole graph (tests hold the two together where both can be built).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trnbench.emulator.fabric.algorithms import ALGORITHMS
from trnbench.emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    PERMUTE,
    REDUCE,
    REDUCE_SCATTER,
    NotPossible,
    ways,
)
from trnbench.emulator.fabric.algorithms.hierarchical import Hierarchical
from trnbench.emulator.fabric.cycles import directed_cycles
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.schedule import Move, Schedule, Step

FLAT, TREE, DIRECT, SHIFT = "ring", "hierarchical-tree", "direct", "shift"
PIPELINED = (FLAT, "hierarchical-ring")
"""Algorithms that keep several messages on the way over the network."""

Planner = Callable[[Network, str, float, int], Schedule]


def algorithms(collective: str) -> tuple[str, ...]:
    """What can do this collective over a cluster."""
    if collective in (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER):
        return "hierarchical-rdh", "hierarchical-ring", "hierarchical-mesh", FLAT
    return {BROADCAST: (TREE,), REDUCE: (TREE,), ALL_TO_ALL: (DIRECT,), PERMUTE: (SHIFT,)}[collective]


def plan(name: str, network: Network, collective: str, size: float, instances: int) -> Schedule:
    """The schedule of `instances` on a network of two of them. Raises NotPossible."""
    if name not in algorithms(collective):
        raise NotPossible(
            f"{name} does no {collective} over a cluster",
            cause=f"these do: {', '.join(algorithms(collective))}",
        )
    if name == FLAT:
        return _flat(network, collective, size, instances)
    if name == TREE:
        return _tree(network, collective, size, instances)
    if name == DIRECT:
        return _direct(network, size, instances)
    if name == SHIFT:
        return _shift(network, size)
    chosen = ALGORITHMS[name]
    assert isinstance(chosen, Hierarchical)
    return chosen.of_servers(network, collective, size, instances)


def _halves(network: Network) -> tuple[range, range]:
    return range(network.size // 2), range(network.size // 2, network.size)


def _flat(network: Network, collective: str, size: float, instances: int) -> Schedule:
    """One ring through all ranks of all instances, several of them side by side.

    Each enters and leaves an instance elsewhere, so that together they use all its adapters.
    """
    walks = _walks(network)
    n = network.size // 2 * instances
    part = size / len(walks)
    reduces, gathers = ways(collective)
    moves = tuple(tuple((walk[i], walk[(i + 1) % len(walk)]) for i in range(len(walk))) for walk in walks)
    steps = []
    if reduces:
        steps.append(Step(moves=tuple(Move(size=part / n, pairs=p, reads=2.0) for p in moves), times=n - 1))
    if gathers:
        steps.append(Step(moves=tuple(Move(size=part / n, pairs=p) for p in moves), times=n - 1))
    return Schedule(algorithm=FLAT, chains=(tuple(steps),), note=f"{len(walks)} flat rings")


def _walks(network: Network) -> list[list[int]]:
    found: list[list[int]] | None = network.memo.get("flat rings")
    if found is None:
        first, second = _halves(network)
        sub = network.part(first)
        cycles = directed_cycles(sub, 2, 0)
        each = network.size // 2 // (max(network.shared) + 1) * 2 or 1
        devices = len(first) // each
        found = []
        turns = max(devices // len(cycles), 1)
        for number, cycle in enumerate(cycles):
            for turn in range(turns):
                # Breaking the cycle elsewhere moves the entry and the exit to other devices.
                cut = (turn * len(cycles) + number) * each % len(cycle)
                order = [*cycle[cut:], *cycle[:cut]]
                found.append([*(first[r] for r in order), *(second[r] for r in order)])
        network.memo["flat rings"] = found
    return found


def _tree(network: Network, collective: str, size: float, instances: int) -> Schedule:
    """Scatter among the root's devices, a binomial tree of instances for each part, gather inside."""
    first, second = _halves(network)
    g = len(first)
    rounds = (instances - 1).bit_length()
    out = tuple(zip(first, second, strict=True))
    back = tuple((b, a) for a, b in out)
    chain: list[Step] = []
    away = tuple((0, r) for r in range(1, g))
    everyone = tuple((a, b) for half in (first, second) for a in half for b in half if a != b)
    if collective == BROADCAST:
        if g > 1:
            chain.append(Step(moves=(Move(size=size / g, pairs=away),)))
        chain.append(Step(moves=(Move(size=size / g, pairs=out),), times=rounds))
        if g > 1:
            chain.append(Step(moves=(Move(size=size / g, pairs=everyone),)))
    else:
        if g > 1:
            chain.append(Step(moves=(Move(size=size / g, pairs=everyone, writes=2.0),)))
        chain.append(Step(moves=(Move(size=size / g, pairs=back, writes=2.0),), times=rounds))
        if g > 1:
            chain.append(Step(moves=(Move(size=size / g, pairs=tuple((b, a) for a, b in away)),)))
    return Schedule(algorithm=TREE, chains=(tuple(chain),), lockstep=True)


def _direct(network: Network, size: float, instances: int) -> Schedule:
    """All pairs at once; the other instances are alike, so their flows are counted, not repeated."""
    first, second = _halves(network)
    part = size / (len(first) * instances)
    inside = tuple((a, b) for half in (first, second) for a in half for b in half if a != b)
    across = tuple(pair for a in first for b in second for pair in ((a, b), (b, a)))
    moves = [Move(size=part, pairs=across, copies=instances - 1)]
    if inside:
        moves.append(Move(size=part, pairs=inside))
    return Schedule(algorithm=DIRECT, chains=((Step(moves=tuple(moves)),),), lockstep=True)


def _shift(network: Network, size: float) -> Schedule:
    n = network.size
    pairs: Sequence[tuple[int, int]] = tuple((r, (r + 1) % n) for r in range(n))
    return Schedule(algorithm=SHIFT, chains=((Step(moves=(Move(size=size, pairs=tuple(pairs)),)),),))
