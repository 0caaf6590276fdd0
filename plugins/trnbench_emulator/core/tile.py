"""Tiles: the boxes of rows and bytes that views cover, and who used each of them last."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trnbench_emulator.nki.memory import Form, Life
from trnbench_emulator.nki.tensor import NkiTensor
from trnbench_emulator.nki.view import reach, rectangle

Box = tuple[int, ...]
"""First row, end of rows, first byte of a row, end of bytes; of a tensor in device memory with three
dimensions or more then the first index and the end in each of them."""

BOXES: dict[tuple[Form, Form, int], Box] = {}
"""Boxes of views by form, form of the storage and offset, as far as they are remembered."""
_MOST = 1 << 16


def box_of(view: NkiTensor) -> Box:
    """Of any view; those addressed at run time cover their whole storage."""
    storage, form = view.storage, view.form
    if not form.indirect and storage.place is None:
        return direct_box(form, storage.form, view.offset)
    region = view.region
    rows = (*region.rows, *region.bytes)
    root = region.storage.form
    if root.on_chip or len(root.shape) < 3:
        return rows
    return (*rows, *(side for size in root.shape for side in (0, size)))


def known_box(form: Form, root: Form, offset: int) -> Box:
    """`direct_box`, remembered over recordings: kernels come to the same views again."""
    key = (form, root, offset)
    box = BOXES.get(key)
    if box is None:
        if len(BOXES) >= _MOST:
            BOXES.clear()
        box = BOXES[key] = direct_box(form, root, offset)
    return box


def direct_box(form: Form, root: Form, offset: int) -> Box:
    """Rows and bytes of a row; a view across rows of HBM takes whole rows.

    Of a tensor in HBM with more dimensions than rows and bytes the index in each is found as well: stores
    of disjoint slices of an image touch no element of each other, though all reach from its first row to
    its last.
    """
    rows = rectangle(form, root, offset)
    return rows if root.on_chip or len(root.shape) < 3 else (*rows, *_indices(form, root, offset))


def joined(one: Box, other: Box) -> Box | None:
    """The box of both, where it holds nothing else: they are alike but in one dimension, and touch there."""
    differ = [at for at in range(0, len(one), 2) if one[at : at + 2] != other[at : at + 2]]
    if len(one) > 4:
        differ = [at for at in differ if at >= 4]
    if len(differ) > 1:
        return None
    if differ and (one[differ[0] + 1] < other[differ[0]] or other[differ[0] + 1] < one[differ[0]]):
        return None
    return _around((one, other))


def _around(boxes: Sequence[Box]) -> Box:
    """The least box that holds all of them."""
    return tuple((max if at % 2 else min)(sides) for at, sides in enumerate(zip(*boxes, strict=True)))


def _indices(form: Form, root: Form, offset: int) -> tuple[int, ...]:
    """First index and end in each dimension of `root`, which lies in memory row by row."""
    strides = [1]
    for length in reversed(root.shape[1:]):
        strides.insert(0, strides[0] * length)
    if form.dtype.size == root.dtype.size:
        first = _index(offset, strides)
        last = list(first)
        for count, stride in zip(form.shape, form.strides, strict=True):
            if count == 1 or not stride:
                continue
            axis = next((at for at, length in enumerate(strides) if 0 < length <= stride), None)
            if axis is None or stride % strides[axis]:
                break
            last[axis] += (count - 1) * (stride // strides[axis])
        else:
            if all(at < size for at, size in zip(last, root.shape, strict=True)):
                return tuple(length for at, end in zip(first, last, strict=True) for length in (at, end + 1))
    # A view that goes on from one row of a dimension to the next: from its first element to its last.
    size = form.dtype.size
    low, high = reach(form.shape, form.strides, size)
    first = _index((offset * size + low) // root.dtype.size, strides)
    last = _index((offset * size + high - 1) // root.dtype.size, strides)
    sides: list[int] = []
    for at, end, extent in zip(first, last, root.shape, strict=True):
        apart = len(sides) > 0 and sides[-1] - sides[-2] > 1
        sides += [0, extent] if apart else [at, end + 1]
    return tuple(sides)


def _index(offset: int, strides: list[int]) -> list[int]:
    index = []
    for stride in strides:
        at, offset = divmod(offset, stride)
        index.append(at)
    return index


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
            fewer = dict(_fewer([*reads.items(), (use.box, {queue: number})]))
            self.reads = fewer
            self.version += 1  # what uses remember of readers is not valid any more
            use.readers = next(users for box, users in fewer.items() if _inside(use.box, box))
            return
        users[queue] = number
        use.readers = users

    def write(self, box: Box, number: int, queue: int) -> None:
        self.version += 1
        writes = self.writes
        if self.reads:
            self.reads = {entry: users for entry, users in self.reads.items() if not _inside(entry, box)}
        if len(writes) == 1 and writes[0][0] is box:
            writes[0] = (box, {queue: number})
            return
        if writes:
            self.writes = writes = [entry for entry in writes if not _inside(entry[0], box)]
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


Read = tuple[Form, Form, int, int, int]
"""Form of a view and of its storage, offset, instruction and queue."""


class Tile(msgspec.Struct, eq=False, gc=False):
    """`born`: the instruction that used it first. `number`: of a tile of PSUM. `sole`: until a second box of
    it is used, what there is to know; then `areas`, and `uses` by form and offset of their views.
    `unwritten`: of a tensor in device memory that nobody has written, who read it: a write would have to wait
    for them.
    """

    life: Life
    memory: str
    bytes: int
    born: int
    number: int = 0
    users: Users = {}
    sole: Sole | None = None
    unwritten: list[Read] | None = None
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
    """Fewer boxes where there are too many to search. Those that touch become one. If that does not halve
    them, their hull stands for all: it waits for more, never for less.
    """
    boxes: list[tuple[Box, Users]] = []
    for box, users in entries:
        joint = joined(boxes[-1][0], box) if boxes else None
        if joint is None:
            boxes.append((box, users))
        else:
            boxes[-1] = (joint, _latest([boxes[-1][1], users]))
    return boxes if len(boxes) <= _MAX_BOXES // 2 else [_hull(boxes)]


def _hull(entries: list[tuple[Box, Users]]) -> tuple[Box, Users]:
    return _around([box for box, _ in entries]), _latest([users for _, users in entries])


def _latest(entries: list[Users]) -> Users:
    latest: Users = {}
    for users in entries:
        for queue, number in users.items():
            latest[queue] = max(latest.get(queue, -1), number)
    return latest
