"""Liveness of a program's tiles while it is recorded: whose place in SBUF and PSUM a new one takes."""

from __future__ import annotations

from collections import deque

from trnbench_emulator.core.births import Births
from trnbench_emulator.core.tile import Tile, Users
from trnbench_emulator.nki.ledger import Life
from trnbench_emulator.nki.machine import Machine


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
        place = 0
        while held > capacity and place < len(tiles):
            tile = tiles[place]
            life = tile.life
            if life.alive:
                place += 1
                continue
            _wait_for(tile, freed)
            held -= tile.bytes
            del self._tiles[life]
            if place:
                del tiles[place]
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
