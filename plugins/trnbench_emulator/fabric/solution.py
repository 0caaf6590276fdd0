"""What carrying out a schedule came to."""

from __future__ import annotations

import msgspec

from trnbench_emulator.fabric.maxmin import Floats
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Chains, Schedule

LOCKSTEP = ", in lockstep"
"""End of `Solution.way` where ranks were taken to wait for each other after every step."""


class Solution(msgspec.Struct, frozen=True, kw_only=True):
    """`time_s`; `carried` bytes per link of the network (index of `Network.links`);
    `accessed` bytes of every device's memory; `latency_s`: the part that is latency and overhead, were
    every link infinitely wide. `ends`: the tick at which each chain is done, start not counted.
    `way`: "orbits" or "flows", and the shortcut taken. `memory`: whether accesses at the ends may have slowed
    a flow; where they did not, the time is what it would be without them. `span_s`: the time in which
    `carried` was carried, where it is another one: others ran beside.
    """

    time_s: float
    total_ticks: int
    carried: Floats
    accessed: Floats
    latency_s: float
    way: str
    ends: tuple[int, ...] = ()
    memory: bool = True
    span_s: float = 0.0


class Carried(msgspec.Struct, frozen=True):
    """A schedule carried out, with the chains that ran beside it, in bytes; the seconds of the algorithms
    that were tried, the names of all that were worth it, why others were not, and by what right `auto` took
    this one.
    """

    schedule: Schedule
    network: Network
    solution: Solution
    beside: Chains = ()
    tried: dict[str, float] = {}
    worth: tuple[str, ...] = ()
    left_out: dict[str, str] = {}
    choice: str = ""
