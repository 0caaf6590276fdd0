"""Where the time of a collective went: waterfall and link loads of what was carried out."""

from __future__ import annotations

import numpy as np

from trnbench.record import Record
from trnbench_emulator import ticks
from trnbench_emulator.fabric.maxmin import Floats
from trnbench_emulator.fabric.network import ALONE, Network
from trnbench_emulator.fabric.schedule import Move
from trnbench_emulator.fabric.solve import LOCKSTEP, Carried, Solution, least_ticks


class LinkLoad(Record, kw_only=True):
    """`utilisation`: bytes over what the link could have carried in the whole time."""

    src: str
    dst: str
    cls: str
    bytes: float
    utilisation: float


class Waterfall(Record, kw_only=True):
    """Picoseconds that add up to the total exactly.

    `ideal`: the bandwidth bound; `algorithm`: bytes beyond it, and links that the algorithm leaves idle;
    `contention`: flows that share links; `latency`: hops on the way; `endpoint`: memory accesses, start
    and steps, and the share of documented rates that is not reached; `residue`: what published graphs take
    beyond that, unexplained.
    """

    ideal: int
    algorithm: int
    contention: int
    latency: int
    endpoint: int
    residue: int = 0

    @property
    def total(self) -> int:
        moving = self.ideal + self.algorithm + self.contention
        return moving + self.latency + self.endpoint + self.residue


def inexact(carried: Carried) -> str:
    """How far a lockstep that was taken for speed can be off; empty where the answer is exact."""
    solution = carried.solution
    if carried.schedule.lockstep or carried.beside or solution.idle or not solution.way.endswith(LOCKSTEP):
        return ""
    off = 1 - least_ticks(carried.network, carried.schedule, solution) / solution.total_ticks
    if off < 1e-4:
        return ""  # what bounds it from below is as long
    return f"ranks taken to wait for each other after every step: at most {off * 100:.2g} % too slow"


def waterfall(
    carried: Carried, free: Solution, bounds: tuple[float, float], latency: int, overhead: int
) -> Waterfall:
    """Whole picoseconds; `free`: the same with accesses at the ends for nothing. `bounds`: seconds at
    documented rates, and at those that the ends reach. What rounding or overlap takes off one part it takes
    off it openly.
    """
    idle = carried.solution.idle
    total = carried.solution.total_ticks - idle
    endpoint = min(max(total - free.total_ticks, 0) + overhead, total)
    latency = min(latency, total - endpoint)
    moving = total - endpoint - latency
    ideal = min(ticks(bounds[1]), moving)
    ends = ideal - min(ticks(bounds[0]), ideal)
    scale = carried.schedule.scale
    known: dict[int, tuple[Move, float]] = {}
    if carried.schedule.key:  # a plan that has a name keeps its moves, and with them their identities
        known = carried.network.of_capacity.setdefault(ALONE, known)

    def alone_of(move: Move) -> float:
        kept = known.get(id(move))
        if kept is None:
            kept = known[id(move)] = move, _alone(carried.network, move)
        return kept[1]

    alone = sum(
        max((ticks(alone_of(move) * scale) for move in step.moves), default=0) * step.times
        for step in max(carried.schedule.chains, key=lambda chain: sum(step.times for step in chain))
    )
    contention = max(min(moving - max(alone, ideal), moving - ideal), 0)
    return Waterfall(
        ideal=ideal - ends,
        algorithm=moving - ideal - contention + idle,
        contention=contention,
        latency=latency,
        endpoint=endpoint + ends,
    )


def _alone(network: Network, move: Move) -> float:
    """Seconds of a move's slowest flow, had it all links to itself."""
    pairs = move.pairs[: network.size]
    if move.offset is not None:
        symmetry = network.symmetry
        assert symmetry is not None
        back = symmetry.offset(symmetry.shifted(0, move.offset), 0)
        pairs = ((symmetry.shifted(0, back), 0),)  # all routes to one rank: one search
    slowest = 0.0
    for src, dst in pairs:
        route = network.route(src, dst)
        if len(route.resources):
            rate = float((network.capacity[route.resources] / route.weights).min())
            slowest = max(slowest, move.size / rate)
    return slowest


def utilisation(network: Network, solution: Solution) -> Floats:
    """Of every link of the network: bytes over what it could have carried in the whole time."""
    busy: Floats = solution.carried / (network.bandwidth * (solution.span_s or solution.time_s))
    return busy


def loads(network: Network, solution: Solution, most: int | None = None) -> list[LinkLoad]:
    """Busiest first, `most` of them (all); ties in the order of the topology."""
    if not len(network.links) or not solution.time_s:
        return []
    busy = utilisation(network, solution)
    order = np.argsort(-busy, kind="stable")
    order = order[solution.carried[order] > 0][:most]
    links, nodes = network.links, network.nodes
    return [
        LinkLoad(
            src=nodes[links[i].src].name,
            dst=nodes[links[i].dst].name,
            cls=links[i].cls,
            bytes=amount,
            utilisation=share,
        )
        for i, amount, share in zip(
            order.tolist(), solution.carried[order].tolist(), busy[order].tolist(), strict=True
        )
    ]
