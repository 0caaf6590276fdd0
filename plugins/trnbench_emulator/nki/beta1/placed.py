"""Whose place in SBUF or PSUM a tile of Beta 1 takes: the compiler decides it, capacity is no rule there."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from itertools import chain

from trnbench_emulator.nki.instruction import Instruction
from trnbench_emulator.nki.ledger import Life
from trnbench_emulator.nki.memory import Buffer, Storage

Taken = tuple[Life, tuple[Life, ...]]
"""A tile, and those whose place it takes."""


def places(instructions: Sequence[Instruction], capacities: Mapping[Buffer, int]) -> dict[int, list[Taken]]:
    """By the number of an instruction, the tiles that begin with it and do not fit beside those before them.

    `capacities` of SBUF and PSUM, in bytes per partition.
    A tile is in use from its first instruction to its last, in the order of the program. Where it does not
    fit, it takes the places of those that nobody uses any more, the one that is so for longest first: of all
    choices the one that waits least. In PSUM more may be in use than there is; nothing is waited for then.
    """
    first, last = _uses(instructions)
    taken: dict[int, list[Taken]] = {}
    memories = {buffer: _Memory(capacity) for buffer, capacity in capacities.items()}
    for storage, number in first.items():
        life, form = storage.life, storage.form
        gone = memories[form.buffer].room(life, form.free * form.dtype.size, number, last[storage])
        if gone:
            taken.setdefault(number, []).append((life, gone))
    return taken


class _Memory:
    """Bytes per partition that are held, the tiles in use, and those that nobody uses any more."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._held = 0
        self._used: list[tuple[int, int, Life, int]] = []  # by last use, the first to end first
        self._idle: deque[tuple[Life, int]] = deque()  # in the order of their last uses

    def room(self, life: Life, size: int, number: int, last: int) -> tuple[Life, ...]:
        """Those whose place a tile takes that is used from instruction `number` to `last`."""
        used, idle = self._used, self._idle
        while used and used[0][0] < number:
            _, _, ended, bytes_ = heappop(used)
            idle.append((ended, bytes_))
        self._held += size
        gone = []
        while self._held > self._capacity and idle:
            ended, bytes_ = idle.popleft()
            self._held -= bytes_
            gone.append(ended)
        heappush(used, (last, life.age, life, size))
        return tuple(gone)


def _uses(instructions: Sequence[Instruction]) -> tuple[dict[Storage, int], dict[Storage, int]]:
    """Of each tile, in the order in which they begin, its first and its last instruction."""
    first: dict[Storage, int] = {}
    last: dict[Storage, int] = {}
    for number, each in enumerate(instructions):
        for view in chain(each.reads, each.writes):
            storage = view.storage
            if storage.form.on_chip:
                first.setdefault(storage, number)
                last[storage] = number
    return first, last
