"""Who holds how much of SBUF and PSUM, and when."""

from __future__ import annotations

from typing import Protocol

import msgspec

from trnbench_emulator.nki.site import NOWHERE, Place


class Ages:
    """Numbers lives in the order of their beginnings. `next`: of the one that begins next."""

    __slots__ = ("next",)

    def __init__(self) -> None:
        self.next = 0

    def __call__(self) -> int:
        age = self.next
        self.next = age + 1
        return age


AGES = Ages()

_FEW = 64


class Life(msgspec.Struct, eq=False, gc=False):
    """From allocation to last use, counted in instructions. `bytes` per partition.

    `died`: how many instructions had been issued when Python dropped the tile. `age`: younger ones have more.
    `last` is followed from the first moment on at which tiles may not fit, see `Clock.careful`. `takes`:
    whose places it takes, where that was decided beforehand (Beta 1).
    """

    first: int
    bytes: int
    name: str = ""
    site: Place = NOWHERE
    last: int = 0
    alive: bool = True
    died: int = -1
    age: int = msgspec.field(default_factory=AGES)
    takes: tuple[Life, ...] = ()


class Clock(Protocol):
    """Counts instructions. `careful`: every operand is looked at, so that last uses are known."""

    count: int
    careful: bool


class Ledger:
    """Bytes per partition of one on-chip memory, and proof that they fit.

    A tile is held from its allocation to its last use, as a compiler that knows the whole kernel
    would hold it. Python's references only bound that from above (a loop variable keeps the last
    tile of the round before), so an excess of referenced bytes is a suspicion, settled as
    soon as the tiles concerned are gone.
    """

    __slots__ = ("capacity", "clock", "held", "lives", "memory", "peak", "purge", "suspicions")

    def __init__(self, memory: str, capacity: int, clock: Clock) -> None:
        self.clock = clock
        self.memory = memory
        self.capacity = capacity
        self.held = 0
        self.peak = 0
        self.lives: list[Life] = []  # those alive, and others until there are `purge` in all
        self.purge = _FEW
        self.suspicions: list[tuple[int, Life, list[Life]]] = []

    def acquire(self, life: Life) -> None:
        lives = self.lives
        lives.append(life)
        if len(lives) >= self.purge:
            self.lives = [each for each in lives if each.alive]
            self.purge = 2 * len(self.lives) + _FEW
        self.held = held = self.held + life.bytes
        if held <= self.capacity:
            if held > self.peak:
                self.peak = held
            return
        if self.suspicions:
            self.suspicions = [each for each in self.suspicions if self._open(each)]
        self.suspicions.append((life.first, life, [each for each in self.lives if each.alive]))
        self.clock.careful = True

    def release(self, life: Life) -> None:
        life.alive = False
        life.died = self.clock.count
        self.held -= life.bytes

    def _open(self, suspicion: tuple[int, Life, list[Life]]) -> bool:
        """May this moment still turn out to need more than there is?"""
        moment, newest, lives = suspicion
        held = sum(life.bytes for life in lives if life.alive or life.last > moment or life is newest)
        if held > self.capacity:
            return True
        self.peak = max(self.peak, held)
        return False

    def overflow(self) -> tuple[Life, list[Life]] | None:
        """At the end: the first allocation that does not fit, and the tiles that are in its way."""
        for moment, newest, lives in self.suspicions:
            holding = [life for life in lives if life.last > moment or life is newest]
            held = sum(life.bytes for life in holding)
            if held > self.capacity:
                return newest, sorted(holding, key=lambda life: -life.bytes)
            self.peak = max(self.peak, held)
        return None
