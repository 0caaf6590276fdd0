"""The same collective in several groups of ranks at once: they share the links between them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trnbench.emulator.fabric.algorithms.algorithm import AUTO
from trnbench.emulator.fabric.collective import asked, chosen
from trnbench.emulator.fabric.explanation import explained
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.ranks import check_ranks
from trnbench.emulator.fabric.result import Bound, Result
from trnbench.emulator.fabric.runner import Runner
from trnbench.emulator.fabric.schedule import Move, Schedule, Step
from trnbench.emulator.fabric.systems import Fabric
from trnbench.errors import UsageError


def run_groups(
    fabric: Fabric,
    collective: str,
    size: float,
    groups: Sequence[Sequence[int]],
    *,
    algorithm: str = AUTO,
    with_links: bool = False,
) -> Result:
    """`size` bytes per group, as `collective.run` defines them; the time until the last group is done.

    Every group plans for itself, by the same algorithm; the flows of all are carried out together.
    Raises UsageError for groups that are no partition of equal parts, NotPossible as `run` does.
    """
    checked(groups, fabric.size)
    verb, size = asked(collective, size, len(groups[0]))
    runner = GroupsRunner(fabric, verb, size, groups)
    return explained(runner, chosen(runner, algorithm), collective, algorithm, with_links=with_links)


def checked(groups: Sequence[Sequence[int]], ranks: int) -> None:
    """Raises UsageError unless groups are equally large, have two ranks or more, and share none."""
    if not groups or len({len(each) for each in groups}) != 1 or len(groups[0]) < 2:
        sizes = ", ".join(str(size) for size in sorted({len(each) for each in groups})) or "none"
        raise UsageError(
            "replica groups must be of one size, two ranks or more",
            cause=f"sizes given: {sizes}",
            try_="--replica-groups '[[0,1],[2,3]]'",
        )
    seen: set[int] = set()
    for rank in (rank for each in groups for rank in each):
        check_ranks((rank,), ranks)
        if rank in seen:
            raise UsageError(
                f"rank {rank} is in two replica groups",
                cause="every rank takes part once",
                try_="--replica-groups '[[0,1],[2,3]]'",
            )
        seen.add(rank)


class GroupsRunner(Runner):
    """Plans on each group's network, carries out on the whole one."""

    def __init__(self, fabric: Fabric, collective: str, size: float, groups: Sequence[Sequence[int]]) -> None:
        super().__init__(fabric, fabric.network, collective, size)
        self.groups = groups
        self.ranks = len(groups[0])
        self._parts = [_planning(fabric, each) for each in groups]

    def schedule(self, name: str) -> Schedule:
        plans = [
            _spread(Runner(self.fabric, part, self.collective, self.size).schedule(name).sized(), part, group)
            for part, group in zip(self._parts, self.groups, strict=True)
        ]
        first = plans[0]
        note = f"{len(self.groups)} groups of {self.ranks} at once"
        return msgspec.structs.replace(
            first,
            chains=tuple(chain for plan in plans for chain in plan.chains),
            note=f"{note}; {first.note}" if first.note else note,
        )

    def bound(self, network: Network) -> Bound:
        """Of one group that has the links to itself."""
        return super().bound(self.fabric.build(self.fabric.topology, self.groups[0]))


def _planning(fabric: Fabric, group: Sequence[int]) -> Network:
    """The links among the group's own devices where they join it, else all of them."""
    part = fabric.network.part(group)
    reached = part.distances(part.ranks[0])
    return part if all(reached[rank] >= 0 for rank in part.ranks) else fabric.build(fabric.topology, group)


def _spread(schedule: Schedule, part: Network, group: Sequence[int]) -> Schedule:
    """A schedule planned on a part of a network, in the ranks of the whole."""

    def moved(move: Move) -> Move:
        pairs = part.pairs(move.offset) if move.offset is not None else move.pairs
        return msgspec.structs.replace(move, offset=None, pairs=tuple((group[a], group[b]) for a, b in pairs))

    chains = tuple(
        tuple(Step(moves=tuple(map(moved, step.moves)), times=step.times) for step in chain)
        for chain in schedule.chains
    )
    return msgspec.structs.replace(schedule, chains=chains)
