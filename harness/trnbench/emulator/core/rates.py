"""By how much a period of a loop moves each clock of a core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from trnbench.emulator.core.core import Core, Snapshot
from trnbench.emulator.core.pace import Claim
from trnbench.emulator.core.program import LOAD

FOREVER = 1 << 60


class Rates(msgspec.Struct, frozen=True):
    """In ticks per period. `free`: when a queue takes the next instruction; `last`: the end of its latest."""

    free: tuple[int, ...]
    last: tuple[int, ...]
    engines: int
    path: int
    hbm: int
    used: Mapping[Claim, int]

    @classmethod
    def between(cls, before: Snapshot, now: Snapshot) -> Rates | None:
        """None where the DMA engines have not moved together."""
        engines = now.engines[0] - before.engines[0]
        if any(b - a != engines for a, b in zip(before.engines, now.engines, strict=True)):
            return None
        return cls(
            tuple(b - a for a, b in zip(before.free, now.free, strict=True)),
            tuple(b - a for a, b in zip(before.last, now.last, strict=True)),
            engines,
            now.path - before.path,
            now.hbm - before.hbm,
            {claim: ticks - before.used.get(claim, 0) for claim, ticks in now.used.items()},
        )

    def steady(self, queues: list[int]) -> bool:
        """A compute engine ends its instructions at the pace at which it begins them."""
        return all(self.free[queue] == self.last[queue] for queue in queues if queue < LOAD)


def transfers(core: Core, numbers: Any, before: Snapshot, rates: Rates) -> int:
    """For how many more periods transfers `numbers` get their engines, way and memory as in this one.

    Carries them out once more from the state `before` the period, each clock together with its rate.
    """
    limit = Limit()
    engines, everyone = list(before.engines), len(before.engines)
    path, hbm = before.path, before.hbm
    last = list(before.last)
    for number in numbers.tolist():
        plain = core.plain[core.program.op[number]]
        queue, issue, latency, spread, hbm_ticks, path_ticks, floor, _, hold = plain
        pace = rates.free[queue]
        begin = core.start[number] + hold + latency
        done, done_pace = begin + floor, pace
        # All engines move at one rate, so that their order stays; the one that is free first waits longest.
        if not limit.wins(engines[0], rates.engines, begin, pace):
            return 0
        if spread == everyone and engines[0] == engines[-1]:
            finished = max(begin, engines[0]) + issue
            engines = [finished] * everyone
        else:
            for each in range(spread):
                if not limit.wins(engines[each], rates.engines, begin, pace):
                    return 0
                engines[each] = max(begin, engines[each]) + issue
            finished = max(engines[:spread])
            engines.sort()
        done, done_pace = limit.later(done, done_pace, finished, rates.engines)
        if not limit.wins(path, rates.path, begin, pace):
            return 0
        path = max(path, begin) + path_ticks
        done, done_pace = limit.later(done, done_pace, path, rates.path)
        if hbm_ticks:
            if not limit.wins(hbm, rates.hbm, begin, pace):
                return 0
            hbm = max(hbm, begin) + hbm_ticks
            done, done_pace = limit.later(done, done_pace, hbm, rates.hbm)
        done, done_pace = limit.later(done, done_pace, last[queue], rates.last[queue])
        if done_pace != rates.last[queue]:
            return 0
        last[queue] = done
    return limit.periods


class Limit:
    """How long the later of two moments stays the later, each moving at a rate of its own."""

    def __init__(self) -> None:
        self.periods = FOREVER

    def later(self, one: int, pace: int, other: int, other_pace: int) -> tuple[int, int]:
        """The later of both and its rate; of equal ones the faster."""
        if (other, other_pace) > (one, pace):
            one, pace, other, other_pace = other, other_pace, one, pace
        if other_pace > pace:
            self.periods = min(self.periods, (one - other) // (other_pace - pace))
        return one, pace

    def wins(self, clock: int, rate: int, begin: int, pace: int) -> bool:
        """Does the later of both move at `rate`, as the clock has to?"""
        return self.later(clock, rate, begin, pace)[1] == rate
