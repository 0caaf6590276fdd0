"""Liveness of tiles while a program is recorded: their births, and whose place a new one takes."""

from __future__ import annotations

from collections import deque

from trnbench.record import grouped
from trnbench_emulator.core.tile import Tile, Users
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.memory import Life


def later(tile: Tile, life: Life, by: int, numbered: int) -> Tile:
    """The tile of another copy, `by` instructions and `numbered` tiles of PSUM later."""
    users = {queue: user + by for queue, user in tile.users.items()}
    number = tile.number + numbered if tile.number else 0
    return Tile(life, tile.memory, tile.bytes, tile.born + by, number, users)


class Births:
    """Tiles that were first used since it was made. `followed`: they tell all that happened."""

    def __init__(self) -> None:
        self.tiles: list[Tile] = []
        self.followed = True

    @property
    def alive(self) -> bool:
        return any(tile.life.alive for tile in self.tiles)

    def by_instruction(self) -> dict[int, list[Tile]]:
        return grouped(self.tiles, lambda tile: tile.born)


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
        self.births: Births | None = None  # while the first copy of a piece is recorded

    def add(self, new: Tile, freed: Users) -> None:
        """A tile that does not fit waits for the users of those dropped first, whose place it takes, or of
        those that its life names."""
        self._tiles[new.life] = new
        size = new.bytes
        if not size:
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
            self.births.tiles.append(new)


def _wait_for(tile: Tile, freed: Users) -> None:
    """The last user of each queue."""
    for queue, user in tile.users.items():
        if queue not in freed or user > freed[queue]:
            freed[queue] = user
