"""Messages that are no collective: one, there and back, a read, many to one, halves that exchange."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trnbench.errors import UsageError
from trnbench_emulator.fabric.algorithms.algorithm import PERMUTE
from trnbench_emulator.fabric.constants import Constants
from trnbench_emulator.fabric.groups import check_ranks
from trnbench_emulator.fabric.question import HALVES, INCAST, PING_PONG, READ, SEND
from trnbench_emulator.fabric.schedule import Move, Schedule, Step


def pattern(name: str, ranks: Sequence[int], count: int, constants: Constants) -> Schedule:
    """Messages of one byte among `count` ranks, start and steps paid for.

    `ranks`: of `send` and `ping_pong` the rank that begins and the other one; of `read` whose memory is read,
    and who asks for it first; of `incast` the receiver, then the senders (all others where none are named);
    of `halves` none: every rank sends to the one half of the numbering away. Raises UsageError for ranks that
    are not there or not as many, and for halves of an odd number.
    """
    check_ranks(ranks, count)
    if name == HALVES:
        return constants.charged(_at_once(_halves(count)), PERMUTE)
    if name == INCAST and ranks:
        senders = ranks[1:] or [rank for rank in range(count) if rank != ranks[0]]
        pairs = [(src, ranks[0]) for src in senders]
    else:
        pairs = [(ranks[0], ranks[1])] if len(ranks) == 2 else []
    if not pairs or any(src == dst for src, dst in pairs) or len(set(pairs)) < len(pairs):
        raise UsageError(
            f"{name} does not take ranks {', '.join(map(str, ranks)) or 'of no number'}",
            cause="it takes the receiver, then its senders"
            if name == INCAST
            else "it takes two different ranks",
            try_="ranks=(0, 1)",
        )
    if name == PING_PONG:
        there = pairs[0]
        steps = tuple(Step(moves=(Move(size=1.0, pairs=(pair,)),)) for pair in (there, there[::-1]))
        return constants.charged(Schedule(algorithm="ping-pong", chains=(steps,)), PERMUTE)
    if name == READ:
        return _read(*pairs[0], constants)
    assert name in (SEND, INCAST)
    return constants.charged(_at_once(pairs), PERMUTE)


def _at_once(pairs: Sequence[tuple[int, int]]) -> Schedule:
    move = Move(size=1.0, pairs=tuple(pairs), direct=True)
    return Schedule(algorithm="direct", chains=((Step(moves=(move,)),),))


def _read(owner: int, reader: int, constants: Constants) -> Schedule:
    """The reader asks, then the bytes come."""
    asks = Move(size=0.0, pairs=((reader, owner),), reads=0.0, writes=0.0)
    comes = Move(size=1.0, pairs=((owner, reader),))
    steps = (Step(moves=(asks,)), Step(moves=(comes,)))
    plan = constants.charged(Schedule(algorithm="read", chains=(steps,)), PERMUTE)
    # The request is no message of its own: one step is paid for.
    return msgspec.structs.replace(plan, startup_s=plan.startup_s + plan.per_message_s, per_message_s=0.0)


def _halves(count: int) -> list[tuple[int, int]]:
    """What the links in the middle carry; the narrowest cut is `trnbench.topology.bisection`."""
    if count < 2 or count % 2:
        raise UsageError(
            f"{count} ranks do not divide into halves",
            cause="their number must be even",
            try_="--ranks core, or a system of several devices",
        )
    return [(rank, (rank + count // 2) % count) for rank in range(count)]
