"""Schedules made from schedules: in the ranks of a group, of several groups at once, with uneven parts."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from msgspec.structs import replace

from trnbench.errors import UsageError
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step


def spread(schedule: Schedule, part: Network, *groups: Sequence[int]) -> Schedule:
    """What was planned on `part` of a network, in the ranks of the whole, by all groups at once: `group[r]`
    for rank r."""

    def moved(move: Move) -> Move:
        pairs = part.pairs_of(move)
        there = tuple((group[src], group[dst]) for group in groups for src, dst in pairs)
        return replace(move, offset=None, pairs=there)

    return schedule.with_moves(moved)


def side_by_side(schedules: Sequence[Schedule], ranks: int) -> Schedule:
    """One of all: the schedules of groups of `ranks` ranks, each in chains of its own."""
    first = schedules[0]
    note = f"{len(schedules)} groups of {ranks} at once"
    return replace(
        first,
        chains=tuple(chain for schedule in schedules for chain in schedule.chains),
        note=f"{note}; {first.note}" if first.note else note,
        key="",
    )


def with_shares(
    schedule: Schedule,
    network: Network,
    groups: Sequence[Sequence[int]],
    parts: Sequence[float],
    *,
    sent: bool,
) -> Schedule:
    """Every message as large as the part that it carries, in units of `scale`: of its sender (`sent`) or of
    its receiver. `parts[i]` is that of the i-th rank of every group; a part of 0 is not sent.

    Each message of `schedule` carries one whole part; its steps become one, for nobody waits between.
    """
    place = {rank: (number, i) for number, group in enumerate(groups) for i, rank in enumerate(group)}
    moves = [move for chain in schedule.chains for step in chain for move in step.moves]
    by_part: dict[float, list[tuple[int, int]]] = {part: [] for part in parts}
    for move in moves:
        for src, dst in network.pairs_of(move):
            by_part[parts[place[src if sent else dst][1]]].append((src, dst))

    def order(pair: tuple[int, int]) -> tuple[int, int, int]:
        owner, other = pair if sent else pair[::-1]
        return place[owner][0], place[owner][1], place[other][1]

    shared = tuple(
        replace(moves[0], size=part, offset=None, pairs=tuple(sorted(pairs, key=order)))
        for part, pairs in by_part.items()
        if part
    )
    return replace(schedule, chains=((Step(moves=shared),),), key="")


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
