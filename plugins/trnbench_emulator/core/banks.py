"""Banks of PSUM: where a program's tiles lie in it, and which banks each instruction touches.

A compiler that knows the whole kernel places tiles; no document says how. The rule here: in the order
of their first use, a tile begins at a bank of its own, and is held until its last use. It takes the banks
in which least is held, and of equal ones the first after the banks of the tile placed before: tiles go
round. A tile whose address the kernel chose lies there.
"""

from __future__ import annotations

from array import array
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from trnbench_emulator.core.tile import Box

Ints = npt.NDArray[np.int64]


class Banked:
    """Which tiles of PSUM each instruction of a program uses, as they are recorded.

    Instruction `owners[i]` uses `refs[i]`, the number of a tile << `count` | the banks, a bit each, counted
    from the tile's own first. Number 0 is PSUM itself: tiles at addresses of the kernel's choice. `sizes`:
    of each tile, bytes per partition.
    """

    __slots__ = ("bytes", "count", "owners", "refs", "sizes")

    def __init__(self, count: int, size: int) -> None:
        """`count` banks of `size` bytes per partition."""
        self.count = count
        self.bytes = size
        self.refs = array("Q")
        self.owners = array("Q")
        self.sizes = array("I", [0])

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
    wides, taken, starts, lasts = (column.tolist() for column in (needed, sizes, begins, ends))
    firsts, held, turn = [0] * len(wides), [0] * count, 0
    using: list[tuple[int, int]] = []  # last use and tile, the first to end first
    for tile in (np.argsort(begins[1:], kind="stable") + 1).tolist():
        wide = wides[tile]
        while using and using[0][0] < starts[tile]:
            ended = heappop(using)[1]
            for bank in range(firsts[ended], min(firsts[ended] + wides[ended], count)):
                held[bank] -= taken[ended]
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
        firsts[tile] = best = max(best, 0)
        for bank in range(best, min(best + wide, count)):
            held[bank] += taken[tile]
        heappush(using, (lasts[tile], tile))
        turn = (best + wide) % count
    return np.array(firsts, np.int64)
