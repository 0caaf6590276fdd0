"""Alpha–beta closed forms: time = steps · latency + bytes / bandwidth, per collective and algorithm.

The forms are those of Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory,
practice, and experience" (2007), and of the bucket algorithm on tori of Sack and Gropp (2015), with
the sender's links as the bandwidth. Levels are gone through one after the other: inner before outer to
reduce, the other way round to gather, so that the outer, slower level carries only a share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from trnbench.emulator.fabric.levels import Level


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """`latency_s` is independent of the size, `transfer_s` proportional to it. `link` carries most.

    `reads_writes`: bytes of device memory that one rank reads and writes meanwhile.
    """

    latency_s: float = 0.0
    transfer_s: float = 0.0
    algorithm: str = ""
    link: str = ""
    memory_bytes: float = 0.0

    @property
    def time_s(self) -> float:
        return self.latency_s + self.transfer_s


def _then(costs: Sequence[Cost]) -> Cost:
    """One after the other."""
    slowest = max(costs, key=lambda each: each.transfer_s)
    names = list(dict.fromkeys(each.algorithm for each in costs))
    return Cost(
        latency_s=sum(each.latency_s for each in costs),
        transfer_s=sum(each.transfer_s for each in costs),
        algorithm=" + ".join(names),
        link=slowest.link,
        memory_bytes=sum(each.memory_bytes for each in costs),
    )


def _best(costs: Sequence[Cost]) -> Cost:
    return min(costs, key=lambda each: (each.time_s, each.algorithm))


def scatter(level: Level, size: float, *, reduce: bool) -> Cost:
    """One direction of the pair reduce-scatter / all-gather over one level: size·(g−1)/g per rank.

    Candidates: bucket (the ring of each dimension of a torus in turn, all links busy), direct
    (every rank to every other in one step; the way through others costs links), halving (or
    doubling: log₂ g steps; on wired links the partner is up to half a side away).
    """
    g = level.size
    share = size * (g - 1) / g
    # Received and written once; a reduction also reads what it adds to, all read what they send.
    memory = share * (3 if reduce else 2)
    rounds = math.ceil(math.log2(g))
    odd = 2 if g & (g - 1) else 0  # a group that is no power of two folds its surplus first and last
    costs = []
    if level.wired:
        costs.append(_cost("bucket", level.ring * level.latency_s, share / level.rate, level, memory))
        direct = share * level.hops / level.rate
        costs.append(_cost("direct", level.steps * level.latency_s, direct, level, memory))
    else:
        costs.append(_cost("ring", (g - 1) * level.latency_s, share / level.rate, level, memory))
        # The fold of a surplus moves half the data once more.
        halving = (share + (size / 2 if odd else 0.0)) / level.rate
        costs.append(_cost("halving", (rounds + odd / 2) * level.latency_s, halving, level, memory))
        if level.name.startswith("switch"):
            costs.append(_cost("switch-direct", level.latency_s, share / level.rate, level, memory))
    return _best(costs)


def _cost(name: str, latency: float, transfer: float, level: Level, memory: float) -> Cost:
    return Cost(latency_s=latency, transfer_s=transfer, algorithm=name, link=level.name, memory_bytes=memory)


def reduce_scatter(levels: Sequence[Level], size: float) -> Cost:
    """Inner levels first: each leaves 1/g of the data to the next."""
    costs, left = [], size
    for level in levels:
        costs.append(scatter(level, left, reduce=True))
        left /= level.size
    return _then(costs)


def all_gather(levels: Sequence[Level], size: float) -> Cost:
    """The mirror image of reduce-scatter, outer levels first."""
    costs, left = [], size
    for level in levels:
        costs.append(scatter(level, left, reduce=False))
        left /= level.size
    return _then(costs[::-1])


def all_reduce(levels: Sequence[Level], size: float) -> Cost:
    """Reduce-scatter, then all-gather."""
    return _then([reduce_scatter(levels, size), all_gather(levels, size)])


def all_to_all(levels: Sequence[Level], size: float) -> Cost:
    """Each level carries what leaves its groups; the slowest level limits, latencies add up.

    A message to another group of a level crosses `hops` links of the sender's kind on average; on an
    even torus with minimal routes split evenly that is the bisection bound too.
    """
    costs = []
    for level in levels:
        leaving = size * (level.size - 1) / level.size
        costs.append(
            _cost("direct", level.steps * level.latency_s, leaving * level.hops / level.rate, level, 0.0)
        )
    slowest = max(costs, key=lambda each: each.transfer_s)
    return Cost(
        latency_s=sum(each.latency_s for each in costs),
        transfer_s=slowest.transfer_s,
        algorithm="direct",
        link=slowest.link,
        memory_bytes=2 * size,
    )


def broadcast(levels: Sequence[Level], size: float) -> Cost:
    """Scatter from the root, inner levels first, then all-gather.

    On each level a group hands the others what they lack over the links of all its members, who got
    their shares on the level before: the network is entered by every adapter, not by the root's alone.
    """
    costs, left = [], size
    for level in levels:
        steps = level.steps if level.wired else math.ceil(math.log2(level.size))
        share = left * (level.size - 1) / level.size
        costs.append(_cost("scatter", steps * level.latency_s, share / level.rate, level, share))
        left /= level.size
    return _then([*costs, all_gather(levels, size)])


def permute(levels: Sequence[Level], size: float) -> Cost:
    """Each rank to its successor on a ring through all: one cable each, the narrowest limits."""
    slowest = max(levels, key=lambda level: size / level.link_rate)
    return Cost(
        latency_s=max(level.latency_s for level in levels),
        transfer_s=size / min(slowest.link_rate, slowest.rate),
        algorithm="ring step",
        link=slowest.name,
        memory_bytes=2 * size,
    )


FORMS: dict[str, Callable[[Sequence[Level], float], Cost]] = {
    "all_reduce": all_reduce,
    "all_gather": all_gather,
    "reduce_scatter": reduce_scatter,
    "all_to_all": all_to_all,
    "broadcast": broadcast,
    "permute": permute,
}


def cheapest(
    form: Callable[[Sequence[Level], float], Cost], orders: Sequence[Sequence[Level]], size: float
) -> Cost:
    """The best order of levels for this size; ties go to the first."""
    return _best([form(order, size) for order in orders])
