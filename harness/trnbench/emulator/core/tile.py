"""What the builder of a program remembers of a tile: who used which box of it last."""

from __future__ import annotations

import msgspec

from trnbench.emulator.core.box import Box
from trnbench.nki.ledger import Life
from trnbench.nki.memory import Form

_MAX_BOXES = 64

Users = dict[int, int]
"""By queue, its last instruction."""


class Area(msgspec.Struct, eq=False, gc=False):
    """128 rows of a tile: boxes written and read, each with its users since. `version` counts writes."""

    writes: list[tuple[Box, Users]] = []
    reads: dict[Box, Users] = {}
    version: int = 0

    def later(self, by: int) -> Area:
        """The same boxes, used by instructions that come `by` later."""
        return Area(
            [(box, _later(users, by)) for box, users in self.writes],
            {box: _later(users, by) for box, users in self.reads.items()},
        )

    def read(self, use: Use, number: int, queue: int) -> None:
        reads = self.reads
        users = reads.get(use.box)
        if users is None:
            if len(reads) < _MAX_BOXES:
                use.readers = reads[use.box] = {queue: number}
                return
            hull, users = _hull([*reads.items(), (use.box, {})])
            self.reads = {hull: users}
            self.version += 1  # what uses remember of readers is not valid any more
        users[queue] = number
        use.readers = users

    def write(self, box: Box, number: int, queue: int) -> None:
        self.version += 1
        writes = self.writes
        if self.reads:
            self.reads = {each: users for each, users in self.reads.items() if not _inside(each, box)}
        if len(writes) == 1 and writes[0][0] is box:
            writes[0] = (box, {queue: number})
            return
        if writes:
            self.writes = writes = [each for each in writes if not _inside(each[0], box)]
        writes.append((box, {queue: number}))
        if len(writes) > _MAX_BOXES:
            self.writes = [_hull(writes)]


class Use(msgspec.Struct, eq=False, gc=False):
    """A box that is used again and again, and which queues have waited for all that was written there.

    `areas` it lies in, the `first` of them again. `ref`: of PSUM, which banks of its tile; see `Banked`.
    `readers`: since the `version` of its area in which the queues of `waited`, a bit each, have read it.
    """

    box: Box
    areas: list[Area]
    first: Area
    ref: int = 0
    readers: Users = {}
    version: int = -1
    waited: int = 0

    def settled(self, queue: int) -> bool:
        """Nothing was written since `queue` has read it."""
        return self.version == self.first.version and self.waited >> queue & 1 == 1


class Tile(msgspec.Struct, eq=False, gc=False):
    """`dies`: from which instruction on nobody holds it; None where that is asked of its `life`.

    `born`: the instruction that used it first. `number`: of a tile of PSUM.
    """

    life: Life
    memory: str
    bytes: int
    born: int
    dies: int | None = None
    number: int = 0
    users: Users = {}
    areas: dict[int, Area] = {}
    uses: dict[tuple[Form, int], Use] = {}

    def alive(self, number: int) -> bool:
        return self.life.alive if self.dies is None else number < self.dies


def _inside(one: Box, other: Box) -> bool:
    return one is other or (
        other[0] <= one[0] and one[1] <= other[1] and other[2] <= one[2] and one[3] <= other[3]
    )


def _later(users: Users, by: int) -> Users:
    return {queue: number + by for queue, number in users.items()}


def _hull(entries: list[tuple[Box, Users]]) -> tuple[Box, Users]:
    """Too many boxes to search: their hull stands for them, which waits for more, never for less."""
    boxes = [box for box, _ in entries]
    latest: Users = {}
    for _, users in entries:
        for queue, number in users.items():
            latest[queue] = max(latest.get(queue, -1), number)
    hull = (
        min(box[0] for box in boxes),
        max(box[1] for box in boxes),
        min(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )
    return hull, latest
