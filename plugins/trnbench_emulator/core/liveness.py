"""Liveness of tiles while a program is recorded: their births, and whose place a new one takes."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from operator import attrgetter

import msgspec

from trnbench_emulator.core.tile import Tile, Users
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.memory import Life

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
    """Births of tiles since instruction `begin`. `of`: by memory, the first born first. `followed`: the
    births tell all that happened.
    """

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
        """Leave out `times` more of a period, `length` instructions from `begin` on, in a loop that began
        at `loop`.

        Each period makes `numbered` tiles of PSUM. From the oldest tile that is alive on, tiles are now
        those of the last period.
        """
        self.look()
        for memory, births in self.of.items():
            latest = len(births) - bisect_left(births, begin, key=_BORN)
            inside = len(births) - bisect_left(births, loop, key=_BORN)
            oldest = max((at for at in range(1, inside + 1) if births[-at].tile is not None), default=0)
            if not latest:
                continue
            if oldest + latest > inside:
                self.followed = False
                return
            last = len(births) - oldest
            period = births[last - latest : last]
            left_out = [
                birth.later(turn * length, turn * numbered)
                for turn in range(1, times + 1)
                for birth in period
            ]
            by, more = times * length, times * numbered
            behind = [birth if birth.tile is not None else birth.later(by, more) for birth in births[last:]]
            self.of[memory] = births[:last] + left_out + behind


class Pool:
    """Tiles of one memory, the oldest first, and bytes per partition: those they hold and those there are."""

    __slots__ = ("capacity", "held", "tiles")

    def __init__(self, capacity: int) -> None:
        self.tiles: deque[Tile] = deque()
        self.held = 0
        self.capacity = capacity


class Liveness:
    """Tiles by life, and those of each memory."""

    def __init__(self, machine: Machine) -> None:
        self.pools = {
            "sbuf": Pool(machine.sbuf_partition_bytes),
            "psum": Pool(machine.psum_partition_bytes),
        }
        self._tiles: dict[Life, Tile] = {}
        self.others: list[Tile] = []  # in device memory, or at addresses of the kernel's choice
        self.births: Births | None = None  # while the first copy of a piece is recorded

    def add(self, new: Tile, freed: Users) -> None:
        """A tile that does not fit waits for the users of those dropped first, whose place it takes, or of
        those that its life names."""
        self._tiles[new.life] = new
        size = new.bytes
        if not size:
            self.others.append(new)
            for life in new.life.takes:
                _wait_for(self._tiles[life], freed)
            if new.life.takes and self.births is not None:
                self.births.followed = False
            return
        pool = self.pools[new.memory]
        tiles, capacity, held = pool.tiles, pool.capacity, pool.held + size
        index = 0
        while held > capacity and index < len(tiles):
            tile = tiles[index]
            life = tile.life
            if life.alive:
                index += 1
                continue
            _wait_for(tile, freed)
            held -= tile.bytes
            del self._tiles[life]
            if index:
                del tiles[index]
            else:
                tiles.popleft()
        tiles.append(new)
        pool.held = held
        if self.births is not None:
            self.births.add(new)

    def turn_over(self, memory: str, used: int, twins: list[Tile], gone: int) -> None:
        """`twins`, which nobody holds, come before the last `used` tiles of a memory, and its first `gone`
        that nobody holds are dropped."""
        pool = self.pools[memory]
        tiles = list(pool.tiles)
        tiles[len(tiles) - used : len(tiles) - used] = twins
        self._tiles.update((twin.life, twin) for twin in twins)
        pool.held += sum(twin.bytes for twin in twins)
        pool.tiles.clear()
        for tile in tiles:
            if gone and not tile.life.alive:
                gone -= 1
                pool.held -= tile.bytes
                del self._tiles[tile.life]
            else:
                pool.tiles.append(tile)


def _wait_for(tile: Tile, freed: Users) -> None:
    """The last user of each queue."""
    for queue, user in tile.users.items():
        if queue not in freed or user > freed[queue]:
            freed[queue] = user
