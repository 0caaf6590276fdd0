"""The shape of every collective algorithm: what it can do, where, and in which steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Final

from trnbench.errors import UsageError
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Schedule, Step

ALL_REDUCE: Final = "all_reduce"
ALL_GATHER: Final = "all_gather"
REDUCE_SCATTER: Final = "reduce_scatter"
ALL_TO_ALL: Final = "all_to_all"
BROADCAST: Final = "broadcast"
REDUCE: Final = "reduce"
PERMUTE: Final = "permute"
BARRIER = "barrier"

COLLECTIVES = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BROADCAST, REDUCE, PERMUTE)
"""What algorithms carry out."""
NAMES = (*COLLECTIVES, BARRIER)
"""What may be asked for: a barrier is carried out as an all-reduce."""
AUTO, BEST = "auto", "best"
"""In place of an algorithm's name: what the documents take, and the quickest."""


class NotPossible(UsageError):
    """The algorithm cannot do this collective on this network; the message says why."""


class _Planning(ABC):
    """`name` is what its plans are said to be of."""

    name: str
    collectives: tuple[str, ...]

    def plan(self, chains: Iterable[Iterable[Step]], note: str = "", *, lockstep: bool = False) -> Schedule:
        """The schedule of these chains."""
        return Schedule(algorithm=self.name, chains=tuple(map(tuple, chains)), note=note, lockstep=lockstep)


class Algorithm(_Planning):
    """What an algorithm can do, and its plan. `size` is the full buffer in bytes: the all-reduce vector, the
    gathered result, the reduce-scatter input, one rank's all-to-all send buffer, the broadcast message.

    There are two ranks or more: `Planner` sees to that. Which numbers and shapes of them it can do,
    `schedule` says by raising NotPossible.
    """

    uneven: tuple[str, ...] = ()
    """Collectives of which it carries unlike parts as well: each of its messages is one whole part."""
    auto: bool = True
    """Whether `auto` may take it as a whole: not if it is a part of another one."""
    auto_ranks: int = 0
    """Ranks above which `auto` leaves it out, for it has to be simulated flow by flow; 0: none."""

    @abstractmethod
    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        """Raises NotPossible."""

    def most_ranks(self, collective: str) -> int:
        """`auto_ranks` of one collective: a broadcast or reduce along open chains has no two steps alike."""
        return self.auto_ranks // 8 if collective in (BROADCAST, REDUCE) else self.auto_ranks


class OverInstances(_Planning):
    """An algorithm over a cluster, planned on a few instances that stand for all of them."""

    pipelined: bool = False
    """Whether it keeps several messages on the way over the network."""

    @abstractmethod
    def over_instances(self, network: Network, collective: str, size: float, instances: int) -> Schedule:
        """The schedule of `instances` on a network of two or more of them. Raises NotPossible."""


def ways(collective: str) -> tuple[bool, bool]:
    """(reduces, gathers): an all-reduce is a reduce-scatter, then an all-gather."""
    return collective in (ALL_REDUCE, REDUCE_SCATTER), collective in (ALL_REDUCE, ALL_GATHER)
