"""Banks of PSUM: where a program's tiles lie in it, and which banks each instruction touches.

A compiler that knows the whole kernel places tiles; no document says how. The rule here: in the order
of their first use, a tile begins at a bank of its own, and is held until its last use. It takes the banks
in which least is held, and of equal ones the first after the banks of the tile placed before: tiles go
round. A tile whose address the kernel chose lies there.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from trnbench_emulator.core.tile import Box

Ints = npt.NDArray[np.int64]
Move = tuple[int, int, list[int]]
"""Place in a period, operand among those in PSUM, and what it is in each period that follows."""

_TOGETHER = 16
"""Tiles that go round: fewer are placed one by one."""


class Banked:
    """Which tiles of PSUM each instruction of a program uses, as they are recorded.

    Instruction `owners[i]` uses `refs[i]`, the number of a tile << `count` | the banks, a bit each, counted
    from the tile's own first. Number 0 is PSUM itself: tiles at addresses of the kernel's choice. `sizes`:
    of each tile, bytes per partition.
    """

    __slots__ = ("_touched", "bytes", "count", "owners", "refs", "sizes")

    def __init__(self, count: int, size: int) -> None:
        """`count` banks of `size` bytes per partition."""
        self.count = count
        self.bytes = size
        self.refs = array("Q")
        self.owners = array("Q")
        self.sizes = array("I", [0])
        self._touched: Ints | None = None

    @property
    def tiles(self) -> int:
        return len(self.sizes)

    def tile(self, size: int) -> int:
        """The number of a new tile of `size` bytes per partition."""
        self.sizes.append(size)
        return len(self.sizes) - 1

    def ref(self, tile: int, box: Box) -> int:
        """Of a `box` in a tile."""
        low, high = box[2] // self.bytes, (box[3] - 1) // self.bytes
        return tile << self.count | ((1 << high + 1) - (1 << low))

    def touched(self, instructions: int) -> Ints:
        """The banks of each instruction of the program, of which there are so many; a bit each."""
        masks = self._touched
        if masks is None or len(masks) != instructions:
            masks = self._touched = self._masks(instructions)
        return masks

    def _masks(self, instructions: int) -> Ints:
        count, everything = self.count, (1 << self.count) - 1
        touched = np.zeros(instructions, np.int64)
        if not self.refs:
            return touched
        refs, owner = np.array(self.refs, np.int64), np.array(self.owners, np.int64)
        tile = refs >> count
        begins = np.full(self.tiles, len(touched), np.int64)
        ends = np.full(self.tiles, -1, np.int64)
        np.minimum.at(begins, tile, owner)
        np.maximum.at(ends, tile, owner)
        sizes = np.array(self.sizes, np.int64)
        places = placed(-(-sizes // self.bytes), sizes, begins, ends, count)
        masks = (refs & everything) << places[tile]
        np.bitwise_or.at(touched, owner, masks & everything)
        return touched


def placed(needed: Ints, sizes: Ints, begins: Ints, ends: Ints, count: int) -> Ints:
    """The first bank of each tile, of `count`. Number 0, PSUM itself, begins at bank 0.

    Tile t takes `needed[t]` banks and `sizes[t]` bytes from instruction `begins[t]` to `ends[t]`.
    """
    order = np.argsort(begins[1:], kind="stable") + 1
    placing = _Placing(needed[order], sizes[order], begins[order], ends[order], count)
    firsts = np.zeros(len(needed), np.int64)
    firsts[order] = placing.firsts()
    return firsts


class _Placing:
    """Tiles in the order of their first use, placed one by one; those that surely go round, at once.

    `using`: last use and place in the order of those that are held, the first to end first.
    """

    def __init__(self, needed: Ints, sizes: Ints, begins: Ints, ends: Ints, count: int) -> None:
        self.count = count
        self.needed, self.sizes = needed.tolist(), sizes.tolist()
        self.begins, self.ends = begins.tolist(), ends.tolist()
        self.held = [0] * count
        self.using: list[tuple[int, int]] = []
        self.found = np.zeros(len(needed), np.int64)
        self.stops = _stops(needed, begins, ends, count)

    def firsts(self) -> Ints:
        count, turn, row, tile, tiles = self.count, 0, 0, 0, len(self.needed)
        while tile < tiles:
            wide = self.needed[tile]
            stop = self.stops[bisect_left(self.stops, tile)]
            if (
                row * wide == count
                and stop - tile >= _TOGETHER
                and not turn % wide
                and self._only(tile - row)
            ):
                # Whoever held its banks was the tile a whole turn before, and is gone.
                self.found[tile:stop] = (turn + wide * np.arange(stop - tile)) % count
                self._hold(stop - row, stop)
                turn, tile = (turn + wide * (stop - tile)) % count, stop
                continue
            best = self._place(tile, turn)
            along = best == turn and count % wide == 0 and (not row or self.needed[tile - 1] == wide)
            row = min(row + 1, count // wide) if along else 0
            turn, tile = (best + wide) % count, tile + 1
        return self.found

    def _place(self, tile: int, turn: int) -> int:
        held, count, using = self.held, self.count, self.using
        wide, size = self.needed[tile], self.sizes[tile]
        while using and using[0][0] < self.begins[tile]:
            self._drop(heappop(using)[1])
        best = least = -1
        for step in range(count):
            bank = (turn + step) % count
            if bank + wide > count:
                continue
            most = max(held[bank : bank + wide])
            if best < 0 or most < least:
                best, least = bank, most
            if not most:
                break
        best = max(best, 0)
        self.found[tile] = best
        for bank in range(best, min(best + wide, count)):
            held[bank] += size
        heappush(using, (self.ends[tile], tile))
        return best

    def _drop(self, tile: int) -> None:
        first = int(self.found[tile])
        for bank in range(first, min(first + self.needed[tile], self.count)):
            self.held[bank] -= self.sizes[tile]

    def _only(self, since: int) -> bool:
        """Is no tile held that was placed before this one?"""
        return all(tile >= since for _, tile in self.using)

    def _hold(self, begin: int, end: int) -> None:
        """From now on these tiles are all that is held."""
        self.held = [0] * self.count
        self.using = [(self.ends[tile], tile) for tile in range(begin, end)]
        heapify(self.using)
        for tile in range(begin, end):
            first = int(self.found[tile])
            for bank in range(first, first + self.needed[tile]):
                self.held[bank] += self.sizes[tile]


def _stops(needed: Ints, begins: Ints, ends: Ints, count: int) -> list[int]:
    """Tiles before which a row of tiles that go round ends. Such a tile is wider or narrower than the one
    before, or it begins while the tile whose banks it would take, a whole turn earlier, is in use.
    """
    tiles = len(needed)
    stop = np.zeros(tiles + 1, np.bool_)
    stop[tiles] = True
    stop[1:tiles] = needed[1:] != needed[:-1]
    for wide in sorted(set(needed.tolist())):
        turn = count // wide
        if count % wide or not 0 < turn < tiles:
            continue
        stop[turn:tiles] |= (needed[turn:] == wide) & (ends[:-turn] >= begins[turn:])
    return np.flatnonzero(stop).tolist()


def go_round(
    banked: Banked, begin: int, length: int, times: int, made: Sequence[int], moving: Sequence[Move]
) -> None:
    """Append `times` more of the `length` instructions from `begin` on, the last that were recorded.

    Tiles of the sizes `made` were made in them, and are made again in each period; `moving` are operands that
    move within a tile that lasts.
    """
    count, owners = banked.count, banked.owners
    low, high = bisect_left(owners, begin), len(owners)
    refs = np.array(banked.refs[low:high], np.int64)
    if len(refs):
        before = np.array(banked.refs[bisect_left(owners, begin - length) : low], np.int64)
        own = refs >> count != before >> count
        steps = np.arange(1, times + 1, dtype=np.int64)[:, None]
        rows = refs + steps * (own.astype(np.int64) * (len(made) << count))
        for at, operand, operands in moving:
            rows[:, bisect_left(owners, begin + at) - low + operand] = operands
        banked.refs.frombytes(rows.astype(np.uint64).tobytes())
        banked.sizes.extend([*made] * times)
        later = np.array(owners[low:], np.int64) + steps * length
        owners.frombytes(later.astype(np.uint64).tobytes())
