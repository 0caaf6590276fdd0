"""What the ends are paid for beside the links: a start per collective, a share per step."""

from __future__ import annotations

import msgspec

from trnbench.emulator.fabric.algorithms.algorithm import ALL_REDUCE, REDUCE, REDUCE_SCATTER
from trnbench.emulator.fabric.constants import Constants
from trnbench.emulator.fabric.schedule import Schedule


def charged(schedule: Schedule, constants: Constants, collective: str) -> Schedule:
    """The schedule with its start and steps paid for."""
    reduces = collective in (ALL_REDUCE, REDUCE_SCATTER, REDUCE)
    gathers = collective not in (REDUCE_SCATTER, REDUCE)
    start = constants.reduce_start * reduces + constants.gather_start * gathers
    return msgspec.structs.replace(schedule, startup_s=start, per_message_s=constants.step)
