"""What is asked of the links: one collective, or one pattern of messages, on one system."""

from __future__ import annotations

from collections import Counter
from math import isfinite

from msgspec.structs import replace

from trnbench.bounded.kinds import LATE, LEFT_OF_LINK, LEFT_OF_RANK, OVERSUBSCRIPTION
from trnbench.errors import UnknownName, UsageError
from trnbench.generation import System
from trnbench.record import Record
from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    AUTO,
    BARRIER,
    NAMES,
    REDUCE_SCATTER,
)
from trnbench_emulator.fabric.constants import CONTEXTS, NCCOM

LEVELS = ("device", "logical-core", "core")


class Options(Record, kw_only=True):
    """`level` says what a rank is, `context` whether a collective runs alone, as nccom-test measures it,
    or inside a compiled graph. Empty `neuronlink_direction` and `trn3_links` keep the default.

    `degraded`: (node name, node name, factor) per directed link, 0 for a dead one. `straggler`: (rank,
    share) of its device's memory bandwidth that a slow rank has left. `late`: (rank, seconds) that a rank
    begins after the others. `oversubscription`: the cluster network carries this many times less than the
    adapters together. `ideal` leaves all endpoint costs and efficiencies out, and with them what a
    straggler's memory costs. `exact` simulates flows that compete unevenly however long that takes.
    """

    level: str = "device"
    context: str = NCCOM
    neuronlink_direction: str = ""
    trn3_links: str = ""
    degraded: tuple[tuple[str, str, float], ...] = ()
    straggler: tuple[tuple[int, float], ...] = ()
    late: tuple[tuple[int, float], ...] = ()
    oversubscription: float = 1.0
    ideal: bool = False
    exact: bool = False

    def check(self) -> None:
        """Raises UsageError for what no system can be; the message names the flag to change."""
        if self.level not in LEVELS:
            raise UsageError(
                f"ranks cannot be {self.level!r}",
                cause=f"they are {', '.join(LEVELS)}",
                try_="--ranks device",
            )
        if self.context not in CONTEXTS:
            raise UsageError(
                f"a collective has no context {self.context!r}",
                cause="it runs alone as nccom-test measures it (nccom), or inside a compiled graph (graph)",
                try_="--context nccom",
            )
        if not OVERSUBSCRIPTION.fits(self.oversubscription):
            raise UsageError(
                f"an oversubscription of {self.oversubscription:g} makes no sense",
                cause="it says how many times less the network carries than the adapters: 1 or more",
                try_="--oversubscription 2",
            )
        for *_, factor in self.degraded:
            if not LEFT_OF_LINK.fits(factor):
                raise UsageError(
                    f"a factor of {factor:g} makes no sense",
                    cause="0 is a dead link, 1 a whole one, 0.5 half",
                    try_="--degrade d0-d1=0.5",
                )
        for rank, share in self.straggler:
            if not LEFT_OF_RANK.fits(share):
                raise UsageError(
                    f"a straggler at {share:g} makes no sense",
                    cause="it is the share of its speed that the rank has left: above 0, up to 1",
                    try_=f"--degrade {rank}=0.5",
                )
        for rank, seconds in self.late:
            if not LATE.fits(seconds):
                raise UsageError(
                    f"a rank cannot be {seconds:g} s late",
                    cause="it is a time from 0 on",
                    try_=f"--degrade {rank}=50us",
                )
        told = [f"link {a} > {b}" for a, b, _ in self.degraded]
        told += [f"memory of rank {rank}" for rank, _ in self.straggler]
        told += [f"beginning of rank {rank}" for rank, _ in self.late]
        for what, times in Counter(told).items():
            if times > 1:
                raise UsageError(
                    f"the {what} is degraded {times} times",
                    cause="only one of the values could hold",
                    try_="one --degrade for it; 'd0>d1=0.5' is one way alone",
                )


DEFAULT = Options()


EVEN_OF = {"all_gather_v": ALL_GATHER, "all_to_all_v": ALL_TO_ALL, "reduce_scatter_v": REDUCE_SCATTER}
"""Collectives of uneven parts, as MPI's (v), and what each is where parts are alike."""
SEND, READ, PING_PONG, INCAST, HALVES = "send", "read", "ping_pong", "incast", "halves"
PATTERNS = (SEND, READ, PING_PONG, INCAST, HALVES)
"""Messages that are no collective: `patterns` says which ranks they take."""


class Beside(Record, kw_only=True):
    """What runs at the same time, as a question would put it; no `groups` for all ranks together."""

    collective: str
    size: float
    algorithm: str = AUTO
    groups: tuple[tuple[int, ...], ...] = ()
    shares: tuple[float, ...] = ()


class Question(Options, frozen=True, kw_only=True):
    """`size` bytes: the all-reduce vector, the gathered result, the reduce-scatter input, one rank's send
    buffer of an all-to-all, the message of a broadcast, reduce, permute or pattern.

    `ranks`: only these take part, all if there are none; of a pattern, whom it takes. `groups`: every one of
    them does the same at once, `size` bytes each. `shares`, for (v): the part of the gathered result that
    each rank (of a group) holds, of the summed input that it keeps, or of every rank's send buffer that goes
    to it, itself included; relative, alike if there are none. `beside`: others that begin at the same time.
    `algorithm`: a name, `auto` (what the runtime was observed to take; elsewhere the best of what is quickly
    answered) or `best` (tries all).
    Whose links, in which context and condition, stands in the fields of `Options`.
    """

    collective: str
    size: float
    system: System
    ranks: tuple[int, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    shares: tuple[float, ...] = ()
    beside: tuple[Beside, ...] = ()
    algorithm: str = AUTO

    @property
    def options(self) -> Options:
        """Of the links alone."""
        return Options(**{name: getattr(self, name) for name in Options.__struct_fields__})

    @property
    def key(self) -> tuple[object, ...]:
        """All that is asked of one system's links in one condition."""
        own = set(Options.__struct_fields__) | {"system"}
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name not in own)

    def inside(self, per_device: int) -> bool:
        """Whether ranks send to others of their device alone, also those beside it."""
        beside = (part for each in self.beside for part in each.groups or ((),))
        parts = (*(self.groups or (self.ranks,)), *beside)  # () stands for all
        return all(len(part) > 1 and len({rank // per_device for rank in part}) == 1 for part in parts)

    def limits(self) -> list[Question | None]:
        """The same without what slows it (links, ranks), and without links above their rate: it is no quicker
        than the first, and no slower than the second. None where that changes nothing.
        """
        above = tuple(each for each in self.degraded if each[2] > 1)
        below = tuple(each for each in self.degraded if each[2] < 1)
        least = replace(self, degraded=above, straggler=(), late=())
        most = replace(self, degraded=below)
        return [None if limit.options == self.options else limit for limit in (least, most)]

    @property
    def slowest(self) -> tuple[float, float]:
        """The least that a link or a rank's memory has left of its rate, and the most seconds that a rank is
        late: 1 and 0 of a healthy machine."""
        left = [factor for *_, factor in self.degraded] + [share for _, share in self.straggler]
        return min(left, default=1.0), max((seconds for _, seconds in self.late), default=0.0)

    @property
    def both_ways(self) -> tuple[tuple[str, str, float], ...]:
        """Its links, each as slow the other way."""
        left: dict[tuple[str, str], float] = {}
        for a, b, factor in self.degraded:
            for way in ((a, b), (b, a)):
                left[way] = min(factor, left.get(way, factor))
        return tuple((a, b, factor) for (a, b), factor in left.items())

    def of(self, other: Beside) -> Question:
        """The question that `other` is, by itself."""
        return replace(
            self,
            collective=other.collective,
            size=other.size,
            ranks=(),
            groups=other.groups,
            shares=other.shares,
            beside=(),
            algorithm=other.algorithm,
        )

    def carried(self, ranks: int) -> tuple[str, float]:
        """What `ranks` ranks carry out, and its bytes: a barrier is an all-reduce of 8 bytes a rank.

        Raises UsageError for an unknown collective, for less than a byte, and for shares of what has none.
        """
        name = EVEN_OF.get(self.collective, self.collective)
        if name not in (*NAMES, *PATTERNS):
            raise UnknownName(
                "collective",
                self.collective,
                NAMES,
                try_="trnbench fabric algorithms -i trn2-16.48xlarge",
            )
        if self.shares and self.collective not in EVEN_OF:
            raise UsageError(
                f"{self.collective} takes no shares",
                cause=f"its parts are alike; {', '.join(EVEN_OF)} take uneven ones",
                try_=next(iter(EVEN_OF)),
            )
        if not isfinite(self.size) or self.size < (0 if name == BARRIER else 1):
            raise UsageError(
                f"a message of {self.size:g} bytes cannot be sent",
                cause="it is one element or more",
                try_="-b 8",
            )
        if name == BARRIER:
            return ALL_REDUCE, 8.0 * ranks
        return name, max(self.size, 1.0)
