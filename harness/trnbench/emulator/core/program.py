"""A kernel as the scheduler sees it: instructions in order, and which earlier ones each must wait for.

What an instruction depends on follows from the program alone, so it is found once; what time it takes
follows from the machine, so the same program can be scheduled on several.
"""

from __future__ import annotations

from array import array

import msgspec

from trnbench.nki.instruction import DMA, Op

QUEUES = ("tensor", "vector", "scalar", "gpsimd", "load ring", "store ring")
"""In-order queues of one core. DMA has one ring for what goes to HBM and one for everything else."""

LOAD, STORE = 4, 5
RAW, WAR, WAW, BUFFER = range(4)
KINDS = ("waits for its input", "waits for readers", "waits for an earlier write", "waits for a buffer")


class Run(msgspec.Struct, frozen=True, order=True):
    """Rounds of a loop, `count` of them, each of `length` instructions, from instruction `begin` on."""

    begin: int
    length: int
    count: int

    @property
    def end(self) -> int:
        return self.begin + self.length * self.count


class Program:
    """Compact: some tens of bytes per instruction, beside the tiles that are alive.

    Instruction i is `ops[op[i]]` at `places[place[i]]` and waits for `deps[first[i]:first[i + 1]]`, each an
    instruction · 4 + kind. Queues issue and complete in order, so that one dependency per queue is enough,
    and none on what the instruction's own queue has waited for before. `runs` are the loops it came from.
    """

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.places: list[tuple[str, int]] = []
        self.op = array("I")
        self.place = array("I")
        self.first = array("Q", [0])
        self.deps = array("Q")
        self.runs: list[Run] = []
        self.breaks: dict[Run, frozenset[int]] = {}  # rounds unlike the one before, once looked for

    def __len__(self) -> int:
        return len(self.op)


def queue_of(op: Op) -> int:
    if op.engine == DMA:
        return STORE if op.variables.get("dst") == "hbm" else LOAD
    return QUEUES.index(op.engine) if op.engine in QUEUES else 3
