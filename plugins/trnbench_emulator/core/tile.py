"""What the builder of a program remembers of a tile: who used which box of it last."""

from __future__ import annotations

import msgspec

from trnbench_emulator.core.box import Box, joined
from trnbench_emulator.nki.ledger import Life
from trnbench_emulator.nki.memory import Form

_MAX_BOXES = 64

Users = dict[int, int]
"""By queue, its last instruction."""


class Area(msgspec.Struct, eq=False, gc=False):
    """128 rows of a tile: boxes written and read, each with its users since. `version` counts writes."""

    writes: list[tuple[Box, Users]] = []
    reads: dict[Box, Users] = {}
    version: int = 0

    def read(self, use: Use, number: int, queue: int) -> None:
        reads = self.reads
        users = reads.get(use.box)
        if users is None:
            if len(reads) < _MAX_BOXES:
                use.readers = reads[use.box] = {queue: number}
                return
            found = dict(_fewer([*reads.items(), (use.box, {queue: number})]))
            self.reads = found
            self.version += 1  # what uses remember of readers is not valid any more
            use.readers = next(users for box, users in found.items() if _inside(use.box, box))
            return
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
            self.writes = _fewer(writes)


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


class Sole(msgspec.Struct, eq=False, gc=False):
    """The one box of a tile that was used so far: most tiles are written and read whole.

    `written`: by whom last; `readers`: since then, and `waited` a bit for each queue among them. `ref`: of
    PSUM, its banks. `form` and `offset` are those of all its views.
    """

    form: Form
    offset: int
    box: Box
    ref: int
    written: Users
    readers: Users
    waited: int = 0


class Progression(msgspec.Struct, frozen=True, gc=False):
    """Accesses to a tensor by rounds `first` to `last` of a loop, which repeat one that began at instruction
    `begin`, `length` later each: place in the round, queue, form of view and storage, offset and its step.
    """

    begin: int
    length: int
    first: int
    last: int
    each: tuple[tuple[int, int, Form, Form, int, int], ...]


Read = tuple[Form, Form, int, int, int]
"""Form of a view and of its storage, offset, instruction and queue."""


class Tile(msgspec.Struct, eq=False, gc=False):
    """`born`: the instruction that used it first. `number`: of a tile of PSUM. `sole`: until a second box of
    it is used, what there is to know; then `areas`, and `uses` by form and offset of their views.
    `unwritten`: of a tensor in device memory that nobody has written, who read it: a write would have to wait
    for them. `stores`: writes to a tensor that nobody reads, not yet among its boxes.
    """

    life: Life
    memory: str
    bytes: int
    born: int
    number: int = 0
    users: Users = {}
    sole: Sole | None = None
    unwritten: list[Read | Progression] | None = None
    stores: Progression | None = None
    areas: dict[int, Area] = {}
    uses: dict[tuple[Form, int], Use] = {}

    def divide(self) -> None:
        """A second box is used: from now on boxes are held against each other."""
        sole = self.sole
        if sole is not None:
            self.sole = None
            area = Area([(sole.box, sole.written)], {sole.box: sole.readers} if sole.readers else {}, 1)
            use = Use(sole.box, [area], area, sole.ref, sole.readers, 1 if sole.waited else -1, sole.waited)
            self.areas[0] = area
            self.uses[sole.form, sole.offset] = use


def _inside(one: Box, other: Box) -> bool:
    return one is other or (
        other[0] <= one[0]
        and one[1] <= other[1]
        and other[2] <= one[2]
        and one[3] <= other[3]
        and (
            len(one) == 4
            or all(other[at] <= one[at] and one[at + 1] <= other[at + 1] for at in range(4, len(one), 2))
        )
    )


def _fewer(entries: list[tuple[Box, Users]]) -> list[tuple[Box, Users]]:
    """Too many boxes to search: those that touch become one; if that does not halve them, their hull stands
    for all of them, which waits for more, never for less."""
    boxes: list[tuple[Box, Users]] = []
    for box, users in entries:
        joint = joined(boxes[-1][0], box) if boxes else None
        if joint is None:
            boxes.append((box, users))
        else:
            boxes[-1] = (joint, _latest([boxes[-1][1], users]))
    return boxes if len(boxes) <= _MAX_BOXES // 2 else [_hull(boxes)]


def _hull(entries: list[tuple[Box, Users]]) -> tuple[Box, Users]:
    boxes = [box for box, _ in entries]
    hull = tuple((max if at % 2 else min)(each) for at, each in enumerate(zip(*boxes, strict=True)))
    return hull, _latest([users for _, users in entries])


def _latest(entries: list[Users]) -> Users:
    latest: Users = {}
    for users in entries:
        for queue, number in users.items():
            latest[queue] = max(latest.get(queue, -1), number)
    return latest
