"""Tiles of a program while it is recorded, and whose place in SBUF and PSUM a new one takes."""

from __future__ import annotations

from collections import deque

from trnbench.emulator.core.tile import Tile, Users
from trnbench.nki.ledger import Life
from trnbench.nki.machine import Machine


class Ring:
    """Tiles of one memory, the oldest first, and bytes per partition: those they hold and those there are."""

    __slots__ = ("held", "most", "tiles")

    def __init__(self, most: int) -> None:
        self.tiles: deque[Tile] = deque()
        self.held = 0
        self.most = most


class Room:
    """Tiles by life, and those of each memory."""

    def __init__(self, machine: Machine) -> None:
        self.rings = {
            "sbuf": Ring(machine.sbuf_partition_bytes),
            "psum": Ring(machine.psum_partition_bytes),
        }
        self._tiles: dict[Life, Tile] = {}

    def add(self, new: Tile, number: int, room: Users) -> None:
        """A tile that does not fit waits for the users of those dropped first, whose place it takes."""
        self._tiles[new.life] = new
        size = new.bytes
        if not size:
            return
        ring = self.rings[new.memory]
        tiles, most, held = ring.tiles, ring.most, ring.held + size
        at = 0
        while held > most and at < len(tiles):
            tile = tiles[at]
            life = tile.life
            if life.alive if tile.dies is None else number < tile.dies:
                at += 1
                continue
            for queue, user in tile.users.items():
                if user > room.get(queue, -1):
                    room[queue] = user
            held -= tile.bytes
            del self._tiles[life]
            del tiles[at]
        tiles.append(new)
        ring.held = held

    def rename(self, tile: Tile, life: Life) -> None:
        """`tile` from now on belongs to `life`; its place in the order of tiles stays."""
        del self._tiles[tile.life]
        self._tiles[life] = tile
        tile.life = life
