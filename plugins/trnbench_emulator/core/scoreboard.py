"""The scoreboard of a program while it is recorded: what its queues have waited for."""

from __future__ import annotations

from trnbench_emulator.core.program import BUFFER, QUEUES, Program
from trnbench_emulator.core.tile import Users

_WIDTH = len(QUEUES)
_PAIRS = _WIDTH * _WIDTH


class Scoreboard:
    """The last instruction of each queue that each queue is known to have waited for: with those for
    buffers, and without, because a schedule may leave these out. The program takes what is not known.
    """

    def __init__(self, program: Program) -> None:
        self._deps = program.deps
        self._waiters = program.waiters
        self._waited = [-1] * _PAIRS
        self._solid = [-1] * _PAIRS
        # By pair, the first and the last instruction asked for since somebody looked; the same for buffers.
        self._asked = [[-1] * _PAIRS for _ in range(4)]

    def wait(self, number: int, queue: int, hazards: Users, freed: Users) -> None:
        """Note what `number` waits for, but for what its queue has waited for before."""
        waited, base = self._waited, queue * _WIDTH
        if hazards:
            solid, (first, last, *_) = self._solid, self._asked
            # By queue: in which order they were found depends on what had been waited for already.
            for other, dep in sorted(hazards.items()) if len(hazards) > 1 else hazards.items():
                source, pair = dep >> 2, base + other
                if source > last[pair]:
                    if last[pair] < 0:
                        first[pair] = source
                    last[pair] = source
                if source > solid[pair] and source != number:
                    solid[pair] = source
                    if source > waited[pair]:
                        waited[pair] = source
                    self._deps.append(dep)
                    self._waiters.append(number)
        if freed:
            _, _, first, last = self._asked
            for other, source in sorted(freed.items()) if len(freed) > 1 else freed.items():
                pair = base + other
                if source > last[pair]:
                    if last[pair] < 0:
                        first[pair] = source
                    last[pair] = source
                if source > waited[pair]:
                    waited[pair] = source
                    self._deps.append(source << 2 | BUFFER)
                    self._waiters.append(number)

    def asked_for(self) -> list[list[int]]:
        """For each pair of queues the first and the last instruction that one has asked for since the last
        call, whether it had waited for that or not, and the same for buffers; -1 for none."""
        found = self._asked
        self._asked = [[-1] * _PAIRS for _ in range(4)]
        return found

    def waits_known(self) -> list[int]:
        """For each pair of queues, what one has waited for, with buffers and without."""
        return [*self._waited, *self._solid]

    def move_waits(self, changed: list[bool], by: int) -> None:
        """Those that `changed` are for instructions `by` later."""
        count = len(self._waited)
        for pair, moved in enumerate(changed):
            if moved:
                (self._waited if pair < count else self._solid)[pair % count] += by
