"""Tiles of a program while it is recorded, and whose place in SBUF and PSUM a new one takes."""

from __future__ import annotations

from collections import OrderedDict

from trnbench.emulator.core.tile import Tile, Users
from trnbench.nki.ledger import Life
from trnbench.nki.machine import Machine


class Room:
    """Tiles by life, and those of each memory from the oldest to the newest."""

    def __init__(self, machine: Machine) -> None:
        # Tiles leave at the front: an OrderedDict finds its first entry at once, a dict searches for it.
        self.rings: dict[str, OrderedDict[Life, Tile]] = {"sbuf": OrderedDict(), "psum": OrderedDict()}
        self._tiles: dict[Life, Tile] = {}
        self._room = {"sbuf": machine.sbuf_partition_bytes, "psum": machine.psum_partition_bytes}
        self._held = {"sbuf": 0, "psum": 0}

    def add(self, new: Tile, number: int, room: Users) -> None:
        """A tile that does not fit waits for the users of those dropped first, whose place it takes."""
        self._tiles[new.life] = new
        memory, size = new.memory, new.bytes
        if not size:
            return
        ring, most = self.rings[memory], self._room[memory]
        held = self._held[memory] + size
        if held > most:
            gone = []
            for life, tile in ring.items():
                if life.alive if tile.dies is None else number < tile.dies:
                    continue
                for queue, user in tile.users.items():
                    if user > room.get(queue, -1):
                        room[queue] = user
                held -= tile.bytes
                gone.append(life)
                if held <= most:
                    break
            for life in gone:
                del ring[life]
                del self._tiles[life]
        ring[new.life] = new
        self._held[memory] = held

    def rename(self, tile: Tile, life: Life) -> None:
        """`tile` from now on belongs to `life`; its place in the order of tiles stays."""
        del self._tiles[tile.life]
        self._tiles[life] = tile
        ring = self.rings.get(tile.memory)
        if ring is not None and tile.life in ring:
            items = [(life if key is tile.life else key, each) for key, each in ring.items()]
            ring.clear()
            ring.update(items)
        tile.life = life
