"""Replica groups: which ranks take part together, named one by one or cut along a grid of parallelisms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TypeAlias

from msgspec.structs import replace

from trnbench.errors import UnknownName, UsageError, counted
from trnbench_emulator.fabric.algorithms.algorithm import PERMUTE, NotPossible
from trnbench_emulator.fabric.constants import Constants
from trnbench_emulator.fabric.question import HALVES, INCAST, PING_PONG, READ, SEND
from trnbench_emulator.fabric.schedule import Move, Schedule, Step

Groups: TypeAlias = tuple[tuple[int, ...], ...]


def check_ranks(ranks: Iterable[int], count: int) -> None:
    """Raises UsageError unless all of them are among `count` ranks."""
    for rank in ranks:
        if not 0 <= rank < count:
            raise UsageError(
                f"rank {rank} is not there",
                cause=f"ranks are 0 to {count - 1}",
                try_="one of these, or --ranks core, which makes every core a rank",
            )


def check_several(ranks: int, system: str, level: str) -> None:
    """Raises NotPossible for less than two ranks: they have nothing to send."""
    if ranks < 2:
        raise NotPossible(
            "a collective needs at least 2 ranks",
            cause=f"{system} has {ranks} here, one per {level}",
            try_="--ranks core, or a system of several devices",
        )


EXAMPLE = "--group '[[0,1],[2,3]]'"


def check_groups(groups: Sequence[Sequence[int]], ranks: int) -> None:
    """Raises UsageError unless groups are equally large, have two ranks or more, and share none."""
    if not groups or len({len(group) for group in groups}) != 1 or len(groups[0]) < 2:
        sizes = ", ".join(str(size) for size in sorted({len(group) for group in groups})) or "none"
        raise UsageError(
            "replica groups must be of one size, two ranks or more",
            cause=f"sizes given: {sizes}",
            try_=EXAMPLE,
        )
    seen: set[int] = set()
    for rank in (rank for group in groups for rank in group):
        check_ranks((rank,), ranks)
        if rank in seen:
            raise UsageError(
                f"rank {rank} is in two replica groups", cause="every rank takes part once", try_=EXAMPLE
            )
        seen.add(rank)


def side_by_side(groups: Groups, per_instance: int) -> tuple[int, Groups]:
    """Of how many instances side by side no group leaves a block, and the groups of the first block, sorted.

    No instances where a block has others than the first: alike they share no link, and take as long as one.
    """
    instances = max(max(group) // per_instance - min(group) // per_instance for group in groups) + 1
    ranks = instances * per_instance
    if any(min(group) // ranks != max(group) // ranks for group in groups):
        return 0, groups
    blocks: dict[int, list[tuple[int, ...]]] = {}
    for group in groups:
        blocks.setdefault(group[0] // ranks, []).append(tuple(rank % ranks for rank in group))
    alike = {tuple(sorted(block)) for block in blocks.values()}
    return (instances, alike.pop()) if len(alike) == 1 else (0, groups)


def groups_along(sizes: Mapping[str, int], name: str, ranks: int) -> list[list[int]]:
    """Ranks that belong together along the axis `name` of a grid over all `ranks`.

    `sizes` are the group sizes of every kind of parallelism, outermost first, as in {"data": 4,
    "tensor": 16}: the last one varies fastest, so a tensor group takes neighbouring ranks.
    Raises UsageError for an axis that is not there and for sizes that do not divide the ranks.
    """
    if name not in sizes:
        raise UnknownName("group", name, sizes, try_=f"one of {', '.join(sizes)}")
    if prod(sizes.values()) != ranks or min(sizes.values()) < 1:
        shown = " × ".join(f"{size} {kind}" for kind, size in sizes.items())
        raise UsageError(
            f"{shown} does not divide {ranks} ranks",
            cause=f"the product is {prod(sizes.values())}",
            try_="group sizes whose product is the number of ranks",
        )
    kinds = list(sizes)
    stride = prod(sizes[kind] for kind in kinds[kinds.index(name) + 1 :])
    span = stride * sizes[name]
    return [
        [outer * span + place * stride + inner for place in range(sizes[name])]
        for outer in range(ranks // span)
        for inner in range(stride)
    ]


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
        steps = tuple(Step.of(Move(size=1.0, pairs=(pair,))) for pair in (there, there[::-1]))
        return constants.charged(Schedule(algorithm="ping-pong", chains=(steps,)), PERMUTE)
    if name == READ:
        return _read(*pairs[0], constants)
    assert name in (SEND, INCAST)
    return constants.charged(_at_once(pairs), PERMUTE)


def _at_once(pairs: Sequence[tuple[int, int]]) -> Schedule:
    move = Move(size=1.0, pairs=tuple(pairs), direct=True)
    return Schedule(algorithm="direct", chains=((Step.of(move),),))


def _read(owner: int, reader: int, constants: Constants) -> Schedule:
    """The reader asks, then the bytes come."""
    asks = Move(size=0.0, pairs=((reader, owner),), reads=0.0, writes=0.0)
    comes = Move(size=1.0, pairs=((owner, reader),))
    steps = (Step.of(asks), Step.of(comes))
    plan = constants.charged(Schedule(algorithm="read", chains=(steps,)), PERMUTE)
    # The request is no message of its own: one step is paid for.
    return replace(plan, startup_s=plan.startup_s + plan.per_message_s, per_message_s=0.0)


def _halves(count: int) -> list[tuple[int, int]]:
    """What the links in the middle carry; the narrowest cut is `trnbench.topology.bisection`."""
    if count < 2 or count % 2:
        raise UsageError(
            f"{counted(count, 'rank')} cannot be halved",
            cause="their number must be even",
            try_="--ranks core, or a system of several devices",
        )
    return [(rank, (rank + count // 2) % count) for rank in range(count)]
