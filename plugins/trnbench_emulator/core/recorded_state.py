"""All that is known of a program while it is recorded: what rounds of a loop are held against, and change."""

from __future__ import annotations

from trnbench_emulator.core.access import Accesses, Entry
from trnbench_emulator.core.level import Level
from trnbench_emulator.core.program import Program
from trnbench_emulator.core.rounds_state import State
from trnbench_emulator.core.scoreboard import Scoreboard
from trnbench_emulator.nki.machine import Machine


class RecordedState(Accesses, Scoreboard):
    """Tiles with their users, and what queues have waited for. `levels`: loops that are watched, the
    innermost last; `log`: operands of their instructions.
    """

    def __init__(self, machine: Machine) -> None:
        program = Program(machine.psum_banks, machine.psum_bank_bytes)
        Accesses.__init__(self, machine, program)
        Scoreboard.__init__(self, program)
        self.log: list[Entry] | None = None
        self.levels: list[Level] = []

    def look(self) -> None:
        """Note what is known now, between two rounds of the innermost loop."""
        level = self.levels[-1]
        number = len(level.starts)
        if number in level.states:
            return
        asked = self.asked_for()
        for each in self.levels:
            for state in each.states.values():
                state.ask(asked)
        program = self.program
        level.states[number] = State(
            len(program.op), self.pools, self.others, self.waits_known(), program.psum.tiles
        )
