"""The recording in progress, as tensors, loops and programs see it, which the recorder is made of."""

from __future__ import annotations

from types import CodeType
from typing import Any, Protocol

from trnbench_emulator.nki.loops import Folds
from trnbench_emulator.nki.machine import Machine


class Recording(Protocol):
    """`count` of at most `most` instructions were issued, by program `program`, and `hbm_bytes` allocated.

    `careful`: every operand is looked at. `indirect`: any tensor was addressed at run time so far. `folds`
    is told of loops, None where all rounds are executed. `sites`: what each loop of the text has learned.
    """

    machine: Machine
    program: int
    count: int
    most: int
    hbm_bytes: int
    careful: bool
    indirect: bool
    folds: Folds | None
    sites: dict[tuple[CodeType, int], Any]

    def left_out(self, instructions: int) -> None: ...
