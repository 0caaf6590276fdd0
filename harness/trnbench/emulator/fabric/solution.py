"""What carrying out a schedule came to."""

from __future__ import annotations

import msgspec

from trnbench.emulator.fabric.maxmin import Floats

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
