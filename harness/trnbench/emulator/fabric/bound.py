"""The time that no algorithm beats.

Chan et al. 2007, section 3; Patarasuk and Yuan 2009: what must leave a rank, a device or an instance, over
all its links, and one message to the farthest rank.
"""

from __future__ import annotations

from trnbench.emulator.fabric.algorithms.algorithm import ALL_REDUCE, ALL_TO_ALL, BROADCAST, PERMUTE, REDUCE
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.ports import ports_of
from trnbench.emulator.fabric.result import Bound

FORMULA = (
    "bytes that must leave a device, or an instance, / its links' bandwidth, and no less than"
    " one message to the farthest rank (Chan et al. 2007; Patarasuk and Yuan 2009)"
)


def bound_of(network: Network, collective: str, size: float, n: int, *, clustered: bool) -> Bound:
    """`size` as `collective.run` takes it, of `n` ranks: as many as `network` has, or those of a cluster
    whose instances two stand for.
    """
    ports = ports_of(network)
    devices = ports.devices * n // network.size
    among = devices if devices > 1 else 1
    share, wide = (n - 1) / n, (among - 1) / among
    times = {ALL_REDUCE: 2.0}.get(collective, 1.0)
    latency = ports.farthest_s
    if collective in (BROADCAST, REDUCE):
        share = wide = 1.0
    if collective == ALL_TO_ALL:
        wide *= n / devices  # every rank of the device sends its own buffer
    if collective == PERMUTE:
        # Nobody has to reach the farthest rank, only some other.
        share, wide, latency = 1.0, 0.0, ports.nearest_s
    inside = times * share * size / ports.rank_rate if ports.rank_rate else 0.0
    outside = times * wide * size / ports.device_rate if ports.device_rate and devices > 1 else 0.0
    between = 0.0
    if clustered and ports.host_rate and ports.hosts > 1:
        m = ports.hosts * n // network.size
        leaving = {ALL_TO_ALL: n / m * (m - 1) / m, BROADCAST: 1.0, REDUCE: 1.0, PERMUTE: 1.0}
        between = times * leaving.get(collective, (m - 1) / m) * size / ports.host_rate
    return Bound(latency_s=latency, bandwidth_s=max(inside, outside, between), formula=FORMULA)
