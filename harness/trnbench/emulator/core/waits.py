"""What the queues of a program have waited for while it is recorded."""

from __future__ import annotations

from array import array

from trnbench.emulator.core.program import BUFFER, QUEUES
from trnbench.emulator.core.tile import Users

_WIDTH = len(QUEUES)
_PAIRS = _WIDTH * _WIDTH
_BOTH = [1 << pair | 1 << pair + _PAIRS for pair in range(_PAIRS)]
"""Bits of `Waits.asked`, by pair of queues."""


class Waits:
    """The last instruction of each queue that each queue is known to have waited for: with those for
    buffers, and without, because a schedule may leave these out. `deps` takes what is not known.
    """

    def __init__(self, deps: array[int]) -> None:
        self._deps = deps
        self._waited = [-1] * _PAIRS
        self._solid = [-1] * _PAIRS
        self.asked = 0  # which of `waits_known` were asked for, a bit each

    def wait(self, number: int, queue: int, waits: Users, room: Users) -> None:
        """Note what `number` waits for, but for what its queue has waited for before."""
        waited, base = self._waited, queue * _WIDTH
        if waits:
            solid = self._solid
            # By queue: in which order they were found depends on what had been waited for already.
            for other, dep in sorted(waits.items()) if len(waits) > 1 else waits.items():
                before, at = dep >> 2, base + other
                self.asked |= _BOTH[at]
                if before > solid[at] and before != number:
                    solid[at] = before
                    if before > waited[at]:
                        waited[at] = before
                    self._deps.append(dep)
        for other, before in sorted(room.items()) if len(room) > 1 else room.items():
            at = base + other
            self.asked |= 1 << at
            if before > waited[at]:
                waited[at] = before
                self._deps.append(before << 2 | BUFFER)

    def waits_known(self) -> list[int]:
        """For each pair of queues, what one has waited for, with buffers and without."""
        return [*self._waited, *self._solid]

    def move_waits(self, changed: list[bool], by: int) -> None:
        """Those that `changed` are for instructions `by` later."""
        count = len(self._waited)
        for at, each in enumerate(changed):
            if each:
                (self._waited if at < count else self._solid)[at % count] += by
