"""An open loop of a kernel that is recorded: where its rounds begin, and what was known then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from trnbench.emulator.core.rounds_state import State


class Level(msgspec.Struct, eq=False):
    """An open loop. Of each of its rounds `starts` has the first instruction; of those that were executed
    since some were left out, and are watched, `ages` the age of the next life and `logged` the length of the
    log at that time. `repeats`: how many more came, each as long, after which round. `states`: by round, what
    was known when it began.
    """

    starts: list[int] = []
    repeats: dict[int, int] = {}
    ages: list[int] = []
    logged: list[int] = []
    states: dict[int, State] = {}
    watched: bool = False

    def forget(self) -> None:
        """Rounds before this moment are not looked at again."""
        self.ages, self.logged, self.states = [], [], {}
