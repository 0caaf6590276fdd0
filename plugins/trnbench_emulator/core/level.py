"""A loop that is watched while it is recorded: where its rounds begin, and what was known then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from trnbench_emulator.core.rounds_state import State


class Level(msgspec.Struct, eq=False):
    """Of each round that was executed `starts` has the first instruction, and of those since some were left
    out `ages` the age of the next life and `logged` the length of the log at that time. `states`: by round,
    what was known when it began.
    """

    starts: list[int] = []
    ages: list[int] = []
    logged: list[int] = []
    states: dict[int, State] = {}

    def forget(self) -> None:
        """Rounds before this moment are not looked at again."""
        self.ages, self.logged, self.states = [], [], {}
