"""Tiles placed by hand: whose bytes an instruction overwrites when it writes to another tile."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from trnbench_emulator.nki.view import Region, region_of

if TYPE_CHECKING:
    from trnbench_emulator.nki.memory import Storage
    from trnbench_emulator.nki.shadow.cells import Cells, Numbers
    from trnbench_emulator.nki.tensor import NkiTensor


class _Tile(NamedTuple):
    """`region` in bytes of the whole memory."""

    cells: weakref.ref[Cells]
    region: Region


class Placed:
    """All tiles with `address=` that are still there."""

    def __init__(self) -> None:
        self._tiles: list[_Tile] = []

    def add(self, storage: Storage, cells: Cells) -> None:
        """A new one, and which of the others it lies over."""
        region = region_of(storage, storage.form, 0)
        newest = _Tile(weakref.ref(cells), region)
        self._tiles = [tile for tile in self._tiles if tile.cells() is not None]
        for tile in self._tiles:
            if tile.region.storage is region.storage and tile.region.meets(region):
                cells.neighbours.append(tile)
                older = tile.cells()
                if older is not None:
                    older.neighbours.append(newest)
        self._tiles.append(newest)

    @staticmethod
    def under(view: NkiTensor, cells: Cells) -> Iterator[tuple[Cells, Numbers]]:
        """The numbers of other tiles that `view` lies over."""
        (first, last), (start, end) = view.region.partition, view.region.free
        for tile in cells.neighbours:
            other, region = tile.cells(), tile.region
            if other is None or not region.meets(view.region):
                continue
            height, width = region.partition[1] - region.partition[0], region.free[1] - region.free[0]
            rows = other.elements(other.granule).reshape(height, width // other.granule)
            top, left = first - region.partition[0], start - region.free[0]
            bottom, right = last - region.partition[0], end - region.free[0]
            columns = slice(max(left, 0) // other.granule, -(-right // other.granule))
            yield other, rows[max(top, 0) : bottom, columns]
