"""Traffic that is no collective: one message, there and back, incast, halves, a matrix of sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from trnbench.emulator.fabric.algorithms.algorithm import PERMUTE
from trnbench.emulator.fabric.charge import charged
from trnbench.emulator.fabric.maxmin import Floats
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.ranks import check_ranks
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
    """All at once: bytes by (from, to).

    Raises UsageError for ranks that are not there and for negative sizes.
    """
    network = _checked(fabric, sizes)
    by_size: dict[float, list[tuple[int, int]]] = {}
    for pair, size in sizes.items():
        if size > 0 and pair[0] != pair[1]:
            by_size.setdefault(float(size), []).append(pair)
    if not by_size:
        return Traffic(time_s=0.0, bytes=0.0, loads=np.zeros(len(network.links)), way="nothing to send")
    moves = tuple(Move(size=size, pairs=tuple(pairs), direct=True) for size, pairs in by_size.items())
    whole = sum(size * len(pairs) for size, pairs in by_size.items())
    return _solved(fabric, network, Schedule(algorithm="direct", chains=((Step(moves=moves),),)), whole)


def halves(fabric: Fabric, size: float) -> Traffic:
    """Every rank `size` bytes to the one half of the numbering away: what the links in the middle carry.

    The narrowest cut of a topology is `trnbench.topology.bisection`; this is traffic across the middle.
    Raises UsageError for an odd number of ranks.
    """
    n = fabric.network.size
    if n < 2 or n % 2:
        raise UsageError(
            f"{n} ranks do not divide into halves",
            cause="their number must be even",
            try_="--ranks core, or a system of several devices",
        )
    return traffic(fabric, {(r, (r + n // 2) % n): size for r in range(n)})


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
        check_ranks((src, dst), network.size)
        if not size >= 0 or size == float("inf"):
            raise UsageError(
                f"a message of {size:g} bytes cannot be sent",
                cause=f"from rank {src} to {dst}",
                try_="a number of bytes, 0 or more",
            )
    return network
