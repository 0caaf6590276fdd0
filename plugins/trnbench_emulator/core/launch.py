"""What runs at once, and what is wanted to be known of it."""

from __future__ import annotations

import msgspec

from trnbench_emulator.compiler import AS_SHIPPED, Assumptions
from trnbench_emulator.core.pace import NOTHING_REMOVED, Without
from trnbench_emulator.nki.recorder import DEFAULT_LIMIT


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """`programs` of one kernel, each on a core; a single program is a launch of one.

    `cores` of the device are at work (0: as many as there are programs), the others with launches of their
    own that do the same. `limit`: instructions of a program after which it is taken to be endless.
    `assumptions`: what the compiler does. `without`: causes of lost time that the machine does not have.

    `held`: the engine, "dma" or "hbm" at whose limit the waterfall starts; "": the tensor engine's where it
    multiplies, else the memory's. `explain`: the waterfall is wanted, which takes an emulation a cause.
    `fold`: rounds of a loop that repeat the rounds before are neither executed nor scheduled one by one; the
    result is the same.
    """

    programs: int = 1
    cores: int = 0
    limit: int = DEFAULT_LIMIT
    assumptions: Assumptions = AS_SHIPPED
    without: Without = NOTHING_REMOVED
    held: str = ""
    explain: bool = True
    fold: bool = True


ALONE = Launch()
