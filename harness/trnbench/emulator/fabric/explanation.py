"""Where the time of a collective went: parts, waterfall and link loads of what was carried out."""

from __future__ import annotations

import numpy as np

from trnbench.emulator.fabric.fluid import TICKS_PER_SECOND, ticks
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.result import Bound, LinkLoad, Result, Waterfall
from trnbench.emulator.fabric.runner import Found, Runner
from trnbench.emulator.fabric.schedule import Move
from trnbench.emulator.fabric.solution import LOCKSTEP, Solution
from trnbench.emulator.fabric.solve import least_ticks, solve_beside
from trnbench.kernels.families.collective import busbw_factor

HOTTEST = 3


def explained(runner: Runner, found: Found, collective: str, asked: str, *, with_links: bool) -> Result:
    """`collective` and `asked` are what the caller named; a barrier runs as an all-reduce."""
    network, solution = found.network, found.solution
    free = solution
    if network.has_memory and solution.memory:
        free = solve_beside(
            network.with_free_memory, found.schedule, found.beside, most=runner.fabric.most_effort
        )
    loads = _loads(network, solution)
    bound = runner.bound(network)
    overhead = ticks(found.schedule.startup_s) + ticks(found.schedule.per_message_s) * found.schedule.steps
    latency = max(round(solution.latency_s * TICKS_PER_SECOND) - overhead, 0)
    memories = network.capacity[len(network.links) :]
    memory = float((solution.accessed / memories).max()) if network.has_memory else 0.0
    # The two may take different shortcuts; a part is never more than the whole.
    moved = max(min(free.total_ticks, solution.total_ticks) - overhead - latency, 0)
    return Result(
        collective=collective,
        algorithm=found.schedule.algorithm,
        asked=asked,
        ranks=runner.ranks,
        size=runner.size,
        time_s=solution.time_s,
        factor=float(busbw_factor(collective, runner.ranks)),
        bound=bound,
        waterfall=_waterfall(found, free, bound, latency, overhead),
        link_s=moved / TICKS_PER_SECOND,
        latency_s=latency / TICKS_PER_SECOND,
        memory_s=memory,
        overhead_s=overhead / TICKS_PER_SECOND,
        hottest=tuple(loads[:HOTTEST]),
        links=tuple(loads) if with_links else (),
        tried=found.tried,
        left_out=found.left_out,
        memory_bytes=float(solution.accessed.max(initial=0.0)),
        notes=tuple(filter(None, (found.schedule.note, _inexact(found)))),
        way=solution.way,
        level=runner.fabric.options.level,
        context=runner.fabric.options.context,
        choice=found.choice,
    )


def _inexact(found: Found) -> str:
    """How far a lockstep that was taken for speed can be off; empty where the answer is exact."""
    solution = found.solution
    if found.schedule.lockstep or found.beside or not solution.way.endswith(LOCKSTEP):
        return ""
    off = 1 - least_ticks(found.network, found.schedule, solution) / solution.total_ticks
    if off < 1e-4:
        return ""  # what bounds it from below is as long
    return f"ranks taken to wait for each other after every step: at most {off * 100:.2g} % too slow"


def _waterfall(found: Found, free: Solution, bound: Bound, latency: int, overhead: int) -> Waterfall:
    """Whole picoseconds; what rounding or overlap takes off one part it takes off it openly."""
    total = found.solution.total_ticks
    endpoint = min(max(total - free.total_ticks, 0) + overhead, total)
    latency = min(latency, total - endpoint)
    moving = total - endpoint - latency
    ideal = min(ticks(bound.bandwidth_s), moving)
    scale = found.schedule.scale
    alone = sum(
        max((ticks(_alone(found.network, move) * scale) for move in step.moves), default=0) * step.times
        for step in max(found.schedule.chains, key=lambda chain: sum(step.times for step in chain))
    )
    contention = max(min(moving - max(alone, ideal), moving - ideal), 0)
    return Waterfall(
        ideal=ideal,
        algorithm=moving - ideal - contention,
        contention=contention,
        latency=latency,
        endpoint=endpoint,
    )


def _alone(network: Network, move: Move) -> float:
    """Seconds of a move's slowest flow, had it all links to itself."""
    if move.offset is not None:
        assert network.symmetry is not None
        pairs = [(network.symmetry.before(0, move.offset), 0)]  # all routes to one rank: one search
    else:
        pairs = list(move.pairs[: network.size])
    slowest = 0.0
    for src, dst in pairs:
        route = network.route(src, dst)
        if len(route.resources):
            rate = float((network.capacity[route.resources] / route.weights).min())
            slowest = max(slowest, move.size / rate)
    return slowest


def _loads(network: Network, solution: Solution) -> list[LinkLoad]:
    """Busiest first; ties in the order of the topology."""
    if not len(network.links) or not solution.time_s:
        return []
    busy = solution.carried / (network.bandwidth * (solution.span_s or solution.time_s))
    return [
        LinkLoad(
            src=network.nodes[network.links[i].src].name,
            dst=network.nodes[network.links[i].dst].name,
            cls=network.links[i].cls,
            bytes=float(solution.carried[i]),
            utilisation=float(busy[i]),
        )
        for i in np.argsort(-busy, kind="stable")
        if solution.carried[i] > 0
    ]
