"""Tiles of SBUF and PSUM in the order of their births, those of rounds that were left out among them."""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter

import msgspec

from trnbench_emulator.core.tile import Tile, Users

_BORN = attrgetter("born")


class Birth(msgspec.Struct, gc=False):
    """A tile from the instruction on that used it first. `tile`: as long as it is alive; then `users`, its
    last of each queue, and `died`, the instruction before which Python had dropped it."""

    memory: str
    bytes: int
    born: int
    number: int
    tile: Tile | None
    users: Users = {}
    died: int = -1

    def later(self, by: int, numbered: int) -> Birth:
        """What it is `by` instructions and `numbered` tiles of PSUM later, in another round or copy."""
        users = {queue: user + by for queue, user in self.users.items()}
        number = self.number + numbered if self.number else 0
        return Birth(self.memory, self.bytes, self.born + by, number, None, users, self.died + by)


class Births:
    """Since instruction `begin`; `of` each memory, the first born first. `followed`: nothing has happened
    that they do not tell of."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.of: dict[str, list[Birth]] = {}
        self.alive: list[Birth] = []  # when somebody looked, or later
        self.followed = True

    def add(self, tile: Tile) -> None:
        birth = Birth(tile.memory, tile.bytes, tile.born, tile.number, tile)
        self.of.setdefault(tile.memory, []).append(birth)
        self.alive.append(birth)

    def look(self) -> None:
        """Note which tiles have ended: what stands for them may soon stand for those of another round."""
        alive: list[Birth] = []
        for birth in self.alive:
            tile = birth.tile
            assert tile is not None
            birth.born, birth.number = tile.born, tile.number
            if tile.life.alive:
                alive.append(birth)
            else:
                birth.users, birth.died, birth.tile = dict(tile.users), self.begin + tile.life.died, None
        self.alive = alive

    def go_on(self, loop: int, begin: int, length: int, times: int, numbered: int) -> None:
        """`times` more of the period of `length` instructions that began at `begin` are left out, in a loop
        that began at `loop`; each makes `numbered` tiles of PSUM. From the oldest one that is alive on, tiles
        are now those of the last period."""
        self.look()
        for memory, births in self.of.items():
            latest = len(births) - bisect_left(births, begin, key=_BORN)
            inside = len(births) - bisect_left(births, loop, key=_BORN)
            kept = max((at for at in range(1, inside + 1) if births[-at].tile is not None), default=0)
            if not latest:
                continue
            if kept + latest > inside:
                self.followed = False
                return
            last = len(births) - kept
            period = births[last - latest : last]
            left_out = [
                birth.later(turn * length, turn * numbered)
                for turn in range(1, times + 1)
                for birth in period
            ]
            by, more = times * length, times * numbered
            behind = [birth if birth.tile is not None else birth.later(by, more) for birth in births[last:]]
            self.of[memory] = births[:last] + left_out + behind
