"""What the builder of a program remembers of a tile: who used which box of it last."""

from __future__ import annotations

from trnbench.emulator.core.box import Box
from trnbench.nki.memory import Form, Life

_MAX_BOXES = 64

Users = dict[int, int]
"""By queue, its last instruction."""


class Area:
    """128 rows of a tile: boxes that were written and read, each with its users since."""

    __slots__ = ("reads", "version", "writes")

    def __init__(self) -> None:
        self.writes: list[tuple[Box, Users]] = []
        self.reads: dict[Box, Users] = {}
        self.version = 0  # counts writes

    def later(self, by: int) -> Area:
        """The same boxes, used by instructions that come `by` later."""
        made = Area()
        made.writes = [(box, _later(users, by)) for box, users in self.writes]
        made.reads = {box: _later(users, by) for box, users in self.reads.items()}
        return made

    def read(self, use: Use, number: int, queue: int) -> None:
        users = self.reads.get(use.box)
        if users is None:
            users = self.reads[use.box] = {}
            if len(self.reads) > _MAX_BOXES:
                hull, users = _hull(list(self.reads.items()))
                self.reads = {hull: users}
                self.version += 1  # what uses remember of readers is not valid any more
        users[queue] = number
        use.readers = users

    def write(self, box: Box, number: int, queue: int) -> None:
        p0, p1, f0, f1 = box
        self.version += 1
        if self.reads:
            self.reads = {
                (a, b, c, d): users
                for (a, b, c, d), users in self.reads.items()
                if not (p0 <= a and b <= p1 and f0 <= c and d <= f1)
            }
        if self.writes:
            self.writes = [
                ((a, b, c, d), users)
                for (a, b, c, d), users in self.writes
                if not (p0 <= a and b <= p1 and f0 <= c and d <= f1)
            ]
        self.writes.append((box, {queue: number}))
        if len(self.writes) > _MAX_BOXES:
            self.writes = [_hull(self.writes)]


class Use:
    """A box that is used again and again, and which queues have waited for all that was written there.

    `ref`: of PSUM, which banks of its tile; see `Banked`.
    """

    __slots__ = ("areas", "box", "first", "readers", "ref", "version", "waited")

    def __init__(self, box: Box, areas: list[Area], ref: int = 0) -> None:
        self.box = box
        self.areas = areas
        self.first = areas[0]
        self.ref = ref
        self.readers: Users = {}
        self.version = -1
        self.waited = 0

    def settle(self, queue: int) -> None:
        """`queue` has read it after all writes so far."""
        if len(self.areas) > 1:
            return
        version = self.first.version
        if version != self.version:
            self.version, self.waited = version, 0
        self.waited |= 1 << queue

    def settled(self, queue: int) -> bool:
        """Nothing was written since `queue` has read it."""
        return self.version == self.first.version and self.waited >> queue & 1 == 1


class Tile:
    """`dies`: from which instruction on nobody holds it; None where that is asked of its `life`.

    `number`: of a tile of PSUM.
    """

    __slots__ = ("areas", "bytes", "dies", "life", "memory", "number", "users", "uses")

    def __init__(self, life: Life, memory: str, size: int, dies: int | None = None) -> None:
        self.life = life
        self.memory = memory
        self.bytes = size
        self.dies = dies
        self.number = 0
        self.users: Users = {}
        self.areas: dict[int, Area] = {}
        self.uses: dict[tuple[Form, int], Use] = {}

    def alive(self, number: int) -> bool:
        return self.life.alive if self.dies is None else number < self.dies


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
