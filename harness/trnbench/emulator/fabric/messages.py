"""Traffic that is no collective of equal parts: pairs, matrices, incast, uneven loads, several at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from trnbench.emulator.fabric.algorithms import ALGORITHMS
from trnbench.emulator.fabric.algorithms.algorithm import AUTO, BEST, PERMUTE, NotPossible
from trnbench.emulator.fabric.charge import charged
from trnbench.emulator.fabric.fluid import TICKS_PER_SECOND
from trnbench.emulator.fabric.maxmin import Floats
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.runner import FALLBACK
from trnbench.emulator.fabric.schedule import Move, Schedule, Step
from trnbench.emulator.fabric.solve import solve
from trnbench.emulator.fabric.systems import Fabric
from trnbench.errors import UsageError


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """`bytes` of all messages together; `rate` is theirs over the time. `loads`: bytes per link, in the
    order of the network's links. Of the time, `latency_s` is that of the links alone and `overhead_s` the
    start and the steps of the ends; `memory_s` is what the busiest device's memory needs for its accesses.
    """

    time_s: float
    bytes: float
    loads: Floats
    way: str
    latency_s: float = 0.0
    overhead_s: float = 0.0
    memory_s: float = 0.0

    @property
    def rate(self) -> float:
        return self.bytes / self.time_s if self.time_s else 0.0


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A collective of one group, run beside others. `size` as in `collective.run`."""

    collective: str
    size: float
    group: tuple[int, ...]
    algorithm: str = AUTO


def send(fabric: Fabric, src: int, dst: int, size: float) -> Traffic:
    """One message, over all cheapest routes at once. Raises UsageError for a rank that is not there."""
    return traffic(fabric, {(src, dst): size})


def read(fabric: Fabric, src: int, dst: int, size: float) -> Traffic:
    """Rank `dst` reads `size` bytes of rank `src`'s memory: it asks, then they come."""
    network = _checked(fabric, {(src, dst): size})
    asks = Move(size=0.0, pairs=((dst, src),), reads=0.0, writes=0.0)
    steps = (Step(moves=(asks,)), Step(moves=(Move(size=size, pairs=((src, dst),)),)))
    # The request is no message of its own: one step is paid for.
    schedule = charged(Schedule(algorithm="read", chains=(steps,)), fabric.constants, PERMUTE)
    once = msgspec.structs.replace(
        schedule, startup_s=schedule.startup_s + schedule.per_message_s, per_message_s=0.0
    )
    return _carried_out(network, once, size)


def ping_pong(fabric: Fabric, src: int, dst: int, size: float) -> Traffic:
    """There and back; `rate` counts both."""
    network = _checked(fabric, {(src, dst): size})
    steps = tuple(Step(moves=(Move(size=size, pairs=(pair,)),)) for pair in ((src, dst), (dst, src)))
    return _solved(fabric, network, Schedule(algorithm="ping-pong", chains=(steps,)), 2 * size)


def incast(fabric: Fabric, dst: int, size: float, sources: Sequence[int] = ()) -> Traffic:
    """Everybody (or `sources`) to one rank at once."""
    chosen = sources or [rank for rank in range(fabric.network.size) if rank != dst]
    return traffic(fabric, {(src, dst): size for src in chosen})


def traffic(fabric: Fabric, sizes: Mapping[tuple[int, int], float]) -> Traffic:
    """All at once: bytes by (from, to). An all-to-all of uneven loads is one of these.

    Raises UsageError for ranks that are not there and for negative sizes.
    """
    network = _checked(fabric, sizes)
    by_size: dict[float, list[tuple[int, int]]] = {}
    for pair, size in sizes.items():
        if size > 0 and pair[0] != pair[1]:
            by_size.setdefault(float(size), []).append(pair)
    if not by_size:
        return Traffic(time_s=0.0, bytes=0.0, loads=np.zeros(len(network.links)), way="nothing to send")
    moves = tuple(Move(size=size, pairs=tuple(pairs)) for size, pairs in by_size.items())
    whole = sum(size * len(pairs) for size, pairs in by_size.items())
    return _solved(fabric, network, Schedule(algorithm="direct", chains=((Step(moves=moves),),)), whole)


def all_gather_v(fabric: Fabric, parts: Sequence[float]) -> Traffic:
    """Rank r's `parts[r]` bytes to everybody, directly."""
    _one_each(fabric, parts)
    n = fabric.network.size
    return traffic(fabric, {(s, d): parts[s] for s in range(n) for d in range(n) if s != d})


def all_to_all_v(fabric: Fabric, parts: Sequence[Sequence[float]]) -> Traffic:
    """`parts[s][d]` bytes from rank s to rank d: the uneven experts of a mixture."""
    _one_each(fabric, parts)
    return traffic(
        fabric, {(s, d): size for s, row in enumerate(parts) for d, size in enumerate(row) if s != d}
    )


def latencies(fabric: Fabric) -> Floats:
    """Seconds of the first byte from each rank to each; 0 on the diagonal."""
    n = fabric.network.size
    found = np.zeros((n, n))
    for s in range(n):
        for d in range(n):
            if s != d:
                found[s, d] = fabric.network.route(s, d).latency / TICKS_PER_SECOND
    return found


def bandwidths(fabric: Fabric) -> Floats:
    """Bytes/s of one message from each rank to each that has all links to itself."""
    network = fabric.network
    found = np.full((network.size, network.size), np.inf)
    for s in range(network.size):
        for d in range(network.size):
            if s != d:
                route = network.route(s, d)
                found[s, d] = float((network.capacity[route.resources] / route.weights).min())
    return found


def halves(fabric: Fabric) -> Traffic:
    """Every rank to the one half of the numbering away, both ways: what the links in the middle carry.

    The narrowest cut of a topology is `trnbench.topology.bisection`; this is traffic across the middle.
    """
    n = fabric.network.size
    size = 2.0**26
    return traffic(fabric, {(r, (r + n // 2) % n): size for r in range(n)})


def together(fabric: Fabric, jobs: Sequence[Job]) -> tuple[Traffic, tuple[float, ...]]:
    """Jobs that start at once and share links: the time until all are done, and each one's time alone.

    Raises UsageError for ranks that are not there, NotPossible where an algorithm cannot do its job.
    """
    network = fabric.network
    chains: list[tuple[Step, ...]] = []
    alone = []
    whole = 0.0
    start = 0.0
    for job in jobs:
        _checked(fabric, {(rank, rank): 0.0 for rank in job.group})
        schedule = charged(_planned(network, job, fabric), fabric.constants, job.collective)
        alone.append(solve(network, schedule, most=fabric.most_effort).time_s)
        chains += schedule.chains
        start = max(start, schedule.startup_s)
        whole += job.size * len(job.group)
    schedule = Schedule(
        algorithm="together", chains=tuple(chains), startup_s=start, per_message_s=fabric.constants.step
    )
    solution = solve(network, schedule)
    found = Traffic(time_s=solution.time_s, bytes=whole, loads=solution.carried, way=solution.way)
    return found, tuple(alone)


def _planned(network: Network, job: Job, fabric: Fabric) -> Schedule:
    """The job's schedule in ranks of the whole network; the quickest alone where none is named."""
    part = network.part(job.group)
    names = [job.algorithm]
    if job.algorithm in (AUTO, BEST):
        named = [each.algorithm for each in fabric.constants.auto if job.size < each.max_bytes][:1]
        names = [*(named if job.algorithm == AUTO else ()), *FALLBACK]
    best: tuple[float, Schedule] | None = None
    for name in names:
        algorithm = ALGORITHMS.get(name)
        if algorithm is None or job.collective not in algorithm.collectives:
            continue
        try:
            planned = spread(algorithm.schedule(part, job.collective, job.size), part, job.group)
        except NotPossible:
            continue
        if len(names) == 1 or (name == names[0] and job.algorithm == AUTO and len(names) > len(FALLBACK)):
            return planned
        time_s = solve(network, planned, most=fabric.most_effort).time_s
        if best is None or time_s < best[0]:
            best = time_s, planned
    if best is None:
        raise NotPossible(f"{job.algorithm} cannot do {job.collective} on {len(job.group)} ranks")
    return best[1]


def spread(schedule: Schedule, part: Network, group: Sequence[int]) -> Schedule:
    """A schedule planned on a part of a network, in the ranks of the whole."""

    def moved(move: Move) -> Move:
        pairs = part.pairs(move.offset) if move.offset is not None else move.pairs
        return msgspec.structs.replace(move, offset=None, pairs=tuple((group[a], group[b]) for a, b in pairs))

    chains = tuple(
        tuple(Step(moves=tuple(map(moved, step.moves)), times=step.times) for step in chain)
        for chain in schedule.chains
    )
    return msgspec.structs.replace(schedule, chains=chains)


def _solved(fabric: Fabric, network: Network, schedule: Schedule, whole: float) -> Traffic:
    return _carried_out(network, charged(schedule, fabric.constants, PERMUTE), whole)


def _carried_out(network: Network, schedule: Schedule, whole: float) -> Traffic:
    solution = solve(network, schedule)
    overhead = schedule.startup_s + schedule.per_message_s * schedule.steps
    memories = network.capacity[len(network.links) :]
    return Traffic(
        time_s=solution.time_s,
        bytes=whole,
        loads=solution.carried,
        way=solution.way,
        latency_s=max(solution.latency_s - overhead, 0.0),
        overhead_s=overhead,
        memory_s=float((solution.accessed / memories).max()) if network.has_memory else 0.0,
    )


def _checked(fabric: Fabric, sizes: Mapping[tuple[int, int], float]) -> Network:
    network = fabric.network
    for (src, dst), size in sizes.items():
        for rank in (src, dst):
            if not 0 <= rank < network.size:
                raise UsageError(f"rank {rank} is not there", cause=f"ranks are 0 to {network.size - 1}")
        if not size >= 0 or size == float("inf"):
            raise UsageError(f"a message of {size:g} bytes cannot be sent", cause=f"from rank {src} to {dst}")
    return network


def _one_each(fabric: Fabric, parts: Sequence[object]) -> None:
    if len(parts) != fabric.network.size:
        raise UsageError(
            f"{len(parts)} loads for {fabric.network.size} ranks", cause="every rank has one, 0 included"
        )
