"""What is asked of the links: one collective, or one pattern of messages, on one system."""

from __future__ import annotations

from math import isfinite

import msgspec

from trnbench.errors import UnknownName, UsageError
from trnbench.generation import System
from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    AUTO,
    BARRIER,
    NAMES,
    REDUCE_SCATTER,
)
from trnbench_emulator.fabric.options import Options

EVEN_OF = {"all_gather_v": ALL_GATHER, "all_to_all_v": ALL_TO_ALL, "reduce_scatter_v": REDUCE_SCATTER}
"""Collectives of uneven parts, as MPI's (v), and what each is where parts are alike."""
SEND, READ, PING_PONG, INCAST, HALVES = "send", "read", "ping_pong", "incast", "halves"
PATTERNS = (SEND, READ, PING_PONG, INCAST, HALVES)
"""Messages that are no collective: `patterns` says which ranks they take."""


class Beside(msgspec.Struct, frozen=True, kw_only=True):
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

    def of(self, other: Beside) -> Question:
        """The question that `other` is, by itself."""
        return msgspec.structs.replace(
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
