"""What is found out about a plan once, whatever its size."""

from __future__ import annotations

import msgspec

from trnbench.emulator.fabric.classes import Classes
from trnbench.emulator.fabric.maxmin import Floats, Indices
from trnbench.emulator.fabric.network import PLANS, Network
from trnbench.emulator.fabric.schedule import Move, Schedule

Shares = list[tuple[Indices, Floats, int]]
"""Resources, what is taken of each, and ticks of latency, for every pair of a move."""


class Known(msgspec.Struct):
    """What was found out about a plan on a network, whatever its size."""

    uneven: bool = False  # ranks do not keep in step by themselves
    compete: bool = False  # some flow slows another
    latency: int | None = None
    classes: tuple[Classes | None, ...] = ()  # one, once looked for
    steps: dict[int, Classes] = {}  # of every step alone, by its place in the merged chains
    moves: dict[int, tuple[Move, Shares]] = {}  # of every move, by its identity


def known_of(network: Network, schedule: Schedule) -> Known:
    """Kept with the network where the plan has a name."""
    if not schedule.key:
        return Known()
    kept: dict[tuple[str, float], Known] = network.memo.setdefault(PLANS, {})
    return kept.setdefault((schedule.key, schedule.per_message_s), Known())
