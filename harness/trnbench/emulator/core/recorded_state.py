"""All that is known of a program while it is recorded: what rounds of a loop are held against, and change."""

from __future__ import annotations

from trnbench.emulator.core.access import Accesses, Entry
from trnbench.emulator.core.program import Program
from trnbench.emulator.core.scoreboard import Scoreboard
from trnbench.nki.machine import Machine


class RecordedState(Accesses, Scoreboard):
    """Tiles with their users, and what queues have waited for. `queues`: of each op; `log`: operands of the
    instructions of open loops, while one is watched.
    """

    def __init__(self, machine: Machine) -> None:
        program = Program(machine.psum_banks, machine.psum_bank_bytes)
        Accesses.__init__(self, machine, program)
        Scoreboard.__init__(self, program)
        self.log: list[Entry] | None = None
        self.queues: list[int] = []
