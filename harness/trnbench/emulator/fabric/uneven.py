"""All-gather and all-to-all of uneven parts, as the (v) collectives of MPI: ragged batches, hot experts.

Everyone sends to everyone at once, each what its share makes it. `shares[r]` is the part of the gathered
result that rank r holds, or the part of every rank's send buffer that goes to rank r, itself included.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import msgspec

from trnbench.emulator.fabric.algorithms.algorithm import ALL_GATHER, ALL_TO_ALL, AUTO, BEST, NotPossible
from trnbench.emulator.fabric.algorithms.direct import everyone
from trnbench.emulator.fabric.charge import charged
from trnbench.emulator.fabric.collective import asked
from trnbench.emulator.fabric.explanation import explained
from trnbench.emulator.fabric.fluid import TICKS_PER_SECOND
from trnbench.emulator.fabric.groups import checked
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.ports import ports_of
from trnbench.emulator.fabric.ranks import check_several
from trnbench.emulator.fabric.result import Bound, Result
from trnbench.emulator.fabric.runner import MOST_MESSAGES, Found, Runner
from trnbench.emulator.fabric.schedule import Move, Schedule, Step
from trnbench.emulator.fabric.systems import Fabric
from trnbench.errors import UsageError

EVEN = {"all_gather_v": ALL_GATHER, "all_to_all_v": ALL_TO_ALL}
"""What each is where shares are alike."""
DIRECT = "direct"
MOST_EFFORT = 2_500_000
"""Messages times different shares that are carried out unasked: each share is another rhythm on the links.
128 ranks that all differ take some 10 s of processor time, 256 minutes.
"""
FORMULA = (
    "bytes that must enter or leave a rank, a device or an instance by these shares / its links' bandwidth,"
    " and no less than one message of the largest share to or from the farthest rank (Chan et al. 2007)"
)


def run_uneven(
    fabric: Fabric,
    collective: str,
    size: float,
    shares: Sequence[float],
    *,
    algorithm: str = AUTO,
    groups: Sequence[Sequence[int]] = (),
    with_links: bool = False,
) -> Result:
    """`size` bytes: the gathered result, or one rank's send buffer. `shares` are relative, one for each
    rank (of a group, where there are some: all groups run at once, with the same shares). `busbw` goes by
    the factor of even shares, so that it falls by what unevenness costs.

    Raises UsageError for an unknown collective, shares that are none, NotPossible for less than two ranks
    and any algorithm but `direct`.
    """
    if collective not in EVEN:
        raise UsageError(
            f"{collective} takes no shares",
            cause=f"its parts are alike; {' and '.join(EVEN)} take uneven ones",
            try_=f"{next(iter(EVEN))}",
        )
    verb, size = asked(EVEN[collective], size, fabric.size)
    if groups:
        checked(groups, fabric.size)
    runner = UnevenRunner(fabric, verb, size, shares, groups)
    if algorithm not in (AUTO, BEST, DIRECT):
        raise NotPossible(
            f"{algorithm} does no {collective}", cause=f"these do: {DIRECT}", try_=f"--algorithm {DIRECT}"
        )
    found = explained(runner, runner.named(DIRECT), verb, algorithm, with_links=with_links)
    return msgspec.structs.replace(found, collective=collective)


def fractions(shares: Sequence[float]) -> tuple[float, ...]:
    """Shares that add up to 1. Raises UsageError for negative ones, and where nothing is left to send."""
    for share in shares:
        if not (isfinite(share) and share >= 0):
            raise UsageError(
                f"a share of {share:g} makes no sense",
                cause="a share is 0 or more; 0 stands for no bytes",
                try_="--shares 3,1,0,1",
            )
    largest = max(shares, default=0.0)
    if not largest:
        raise UsageError("all shares are 0", cause="nobody has anything to send", try_="--shares 3,1,1,1")
    relative = [share / largest for share in shares]
    whole = sum(relative)
    return tuple(share / whole for share in relative)


class UnevenRunner(Runner):
    """Plans and carries out on the whole network; `shares` as `run_uneven` takes them."""

    def __init__(
        self,
        fabric: Fabric,
        collective: str,
        size: float,
        shares: Sequence[float],
        groups: Sequence[Sequence[int]] = (),
    ) -> None:
        super().__init__(fabric, fabric.network, collective, size)
        self.groups = groups
        self.ranks = len(groups[0]) if groups else fabric.size
        check_several(fabric, self.ranks)
        if len(shares) != self.ranks:
            raise UsageError(
                f"{len(shares)} shares for {self.ranks} ranks",
                cause="every rank has one, 0 included",
                try_=f"{self.ranks} shares",
            )
        self.shares = fractions(shares)

    def auto(self) -> Found:
        return self.named(DIRECT)

    def best(self, names: Sequence[str] = ()) -> Found:
        return self.named(DIRECT)

    def schedule(self, name: str) -> Schedule:
        """One step. What is even goes by translations, as the collective of equal parts does."""
        groups = self.groups or (range(self.ranks),)
        different = len(set(self.shares) - {0.0})
        messages = len(groups) * self.ranks * (self.ranks - 1)
        much = messages > MOST_MESSAGES or messages * different > MOST_EFFORT
        if different > 1 and much and not self.fabric.options.exact:
            raise NotPossible(
                f"{different:,} different shares on {len(groups) * self.ranks:,} ranks take minutes or more",
                cause=f"{messages:,} messages that all compete unevenly",
                try_="a smaller system, fewer different shares, --group, or --exact to wait for it",
            )
        if not self.groups and len(set(self.shares)) == 1:
            moves = everyone(self.network, 1 / self.ranks)
        else:
            moves = tuple(
                Move(
                    size=share,
                    pairs=tuple(pair for group in groups for pair in self._pairs(group, share)),
                    direct=True,
                )
                for share in dict.fromkeys(self.shares)
                if share
            )
        note = f"{len(groups)} groups of {self.ranks} at once" if self.groups else ""
        plan = Schedule(algorithm=DIRECT, chains=((Step(moves=moves),),), note=note)
        return msgspec.structs.replace(charged(plan, self.constants, self.collective), scale=self.size)

    def _pairs(self, group: Sequence[int], share: float) -> list[tuple[int, int]]:
        """Who sends this share to whom, in ranks of the network."""
        of_it = [rank for rank, each in zip(group, self.shares, strict=True) if each == share]
        if self.collective == ALL_GATHER:
            return [(src, dst) for src in of_it for dst in group if src != dst]
        return [(src, dst) for dst in of_it for src in group if src != dst]

    def bound(self, network: Network) -> Bound:
        """Of one group that has the links to itself."""
        if self.groups:
            network = self.fabric.build(self.fabric.topology, self.groups[0])
        ports = ports_of(network)
        hosts = [network.nodes[rank].host for rank in network.ranks]
        times = [self._most(range(self.ranks)) / ports.rank_rate if ports.rank_rate else 0.0]
        if ports.devices > 1 and ports.device_rate:
            times.append(self._most(network.shared) / ports.device_rate)
        if self.fabric.clustered and ports.hosts > 1 and ports.host_rate:
            times.append(self._most(hosts) / ports.host_rate)
        largest = self.shares.index(max(self.shares))
        others = [rank for rank in range(self.ranks) if rank != largest]
        if self.collective == ALL_GATHER:
            latency = max(network.route(largest, rank).latency for rank in others)
        else:
            latency = max(network.route(rank, largest).latency for rank in others)
        return Bound(latency_s=latency / TICKS_PER_SECOND, bandwidth_s=max(times), formula=FORMULA)

    def _most(self, of_rank: Sequence[int]) -> float:
        """Bytes that enter or leave the busiest part, the ranks being divided into parts: gathered ones
        once per part, the others each for itself.
        """
        share: dict[int, float] = {}
        count: dict[int, int] = {}
        for part, each in zip(of_rank, self.shares, strict=True):
            share[part] = share.get(part, 0.0) + each
            count[part] = count.get(part, 0) + 1
        most = 0.0
        for part, own in share.items():
            rest = max(1 - own, 0.0)
            if self.collective == ALL_GATHER:
                most = max(most, rest, own if rest or len(share) > 1 else 0.0)
            else:
                most = max(most, count[part] * rest, (self.ranks - count[part]) * own)
        return most * self.size
