"""Questions to a fabric that are no collective: pairs, a cut in halves, many senders to one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trnbench.emulator.fabric.algorithms.algorithm import PERMUTE
from trnbench.emulator.fabric.collective import _loads, charged
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.result import LinkLoad
from trnbench.emulator.fabric.schedule import Move, Schedule, Step
from trnbench.emulator.fabric.solve import Solution, solve
from trnbench.emulator.fabric.systems import Fabric
from trnbench.errors import UsageError


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One message from `src` to `dst` while nobody else sends. Bytes/s and seconds; `hops` are links."""

    src: str
    dst: str
    hops: int
    latency_s: float
    time_s: float
    bandwidth: float


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """`senders` messages at once: `total` and `each` in bytes/s, the busiest links first."""

    senders: int
    receivers: int
    size: float
    time_s: float
    hottest: tuple[LinkLoad, ...]

    @property
    def each(self) -> float:
        return self.size / self.time_s

    @property
    def total(self) -> float:
        return self.each * self.senders


def pair(fabric: Fabric, src: int, dst: int, size: float) -> Pair:
    """Over all minimal routes between two ranks. `latency_s` holds start and step of the ends as well."""
    network = fabric.network
    _within(network, (src, dst))
    if src == dst:
        raise UsageError(f"rank {src} does not send to itself", try_="two ranks")
    small = _solved(fabric, network, ((src, dst),), 1.0).time_s
    time_s = _solved(fabric, network, ((src, dst),), size).time_s
    names = [network.nodes[network.ranks[rank]].name for rank in (src, dst)]
    return Pair(
        src=names[0],
        dst=names[1],
        hops=network.route(src, dst).hops,
        latency_s=small,
        time_s=time_s,
        bandwidth=size / time_s,
    )


def matrix(fabric: Fabric, ranks: Sequence[int], size: float) -> list[list[Pair | None]]:
    """Every ordered pair of `ranks`; None on the diagonal."""
    return [[pair(fabric, a, b, size) if a != b else None for b in ranks] for a in ranks]


def halves(fabric: Fabric, size: float) -> Traffic:
    """Every rank sends to the one half the ranks away and hears from it, all at once."""
    network = fabric.network
    n = network.size
    if n < 2 or n % 2:
        raise UsageError(f"{n} ranks do not divide into halves", cause="their number must be even")
    return _traffic(fabric, network, tuple((r, (r + n // 2) % n) for r in range(n)), size, n)


def incast(fabric: Fabric, target: int, senders: int, size: float) -> Traffic:
    """The `senders` ranks after `target` all send to it."""
    network = fabric.network
    n = network.size
    _within(network, (target,))
    if not 1 <= senders < n:
        raise UsageError(f"{senders} ranks cannot send to one of {n}", cause=f"1 to {n - 1} can")
    return _traffic(
        fabric, network, tuple(((target + k) % n, target) for k in range(1, senders + 1)), size, 1
    )


def _within(network: Network, ranks: Sequence[int]) -> None:
    for rank in ranks:
        if not 0 <= rank < network.size:
            raise UsageError(f"rank {rank} is not there", cause=f"ranks are 0 to {network.size - 1}")


def _traffic(
    fabric: Fabric, network: Network, pairs: tuple[tuple[int, int], ...], size: float, receivers: int
) -> Traffic:
    solution = _solved(fabric, network, pairs, size)
    return Traffic(
        senders=len(pairs),
        receivers=receivers,
        size=size,
        time_s=solution.time_s,
        hottest=tuple(_loads(network, solution)[:3]),
    )


def _solved(fabric: Fabric, network: Network, pairs: tuple[tuple[int, int], ...], size: float) -> Solution:
    schedule = Schedule(algorithm="probe", chains=((Step(moves=(Move(size=size, pairs=pairs),)),),))
    return solve(network, charged(schedule, fabric.constants, PERMUTE))
