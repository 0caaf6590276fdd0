"""Liveness of tiles while a program is recorded: their births, and whose place a new one takes."""

from __future__ import annotations

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


def _wait_for(tile: Tile, freed: Users) -> None:
    """The last user of each queue."""
    for queue, user in tile.users.items():
        if queue not in freed or user > freed[queue]:
            freed[queue] = user
