"""A kernel as the scheduler sees it: instructions in order, and which earlier ones each must wait for.

What an instruction depends on follows from the program alone, so it is found once; what time it takes
follows from the machine, so the same program can be scheduled on several.
"""

from __future__ import annotations

from array import array
from typing import Any

from trnbench.nki.instruction import DMA, Instruction, Op
from trnbench.nki.machine import Machine
from trnbench.nki.memory import Form, Life
from trnbench.nki.tensor import NkiTensor

QUEUES = ("tensor", "vector", "scalar", "gpsimd", "load ring", "store ring")
"""In-order queues of one core. DMA has one ring for what goes to HBM and one for everything else."""

LOAD, STORE = 4, 5
RAW, WAR, WAW, BUFFER = range(4)
KINDS = ("waits for its input", "waits for readers", "waits for an earlier write", "waits for a buffer")

_MAX_BOXES = 64
_ROWS = 7  # boxes of HBM are found by groups of 128 rows

Box = tuple[int, int, int, int]
Users = dict[int, int]


class Program:
    """Compact: some tens of bytes per instruction, beside the tiles that are alive.

    Instruction i is `ops[op[i]]` at `places[place[i]]` and waits for `deps[first[i]:first[i + 1]]`, each an
    instruction · 4 + kind. Queues complete in order, so that one dependency per queue is enough.
    """

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.places: list[tuple[str, int]] = []
        self.op = array("I")
        self.place = array("I")
        self.first = array("Q", [0])
        self.deps = array("Q")

    def __len__(self) -> int:
        return len(self.op)


class _Entry:
    """A box of memory, with the last instruction of each queue that wrote and that read it."""

    __slots__ = ("box", "readers", "writers")

    def __init__(self, box: Box, writers: Users, readers: Users) -> None:
        self.box = box
        self.writers = writers
        self.readers = readers


class _Tile:
    __slots__ = ("bytes", "groups", "life", "memory")

    def __init__(self, life: Life, memory: str) -> None:
        self.life = life
        self.memory = memory
        self.bytes = 0
        self.groups: dict[int, list[_Entry]] = {}


class Builder:
    """Takes instructions as they are recorded. Tiles that Python has dropped are forgotten."""

    def __init__(self, machine: Machine) -> None:
        self.program = Program()
        self._ids: dict[Op, int] = {}
        self._places: dict[tuple[str, int], int] = {}
        self._tiles: dict[Life, _Tile] = {}
        self._boxes: dict[tuple[Form, Form, int], Box] = {}
        self._room = {"sbuf": machine.sbuf_partition_bytes, "psum": machine.psum_partition_bytes}
        self._held = {"sbuf": 0, "psum": 0}

    def take(self, instruction: Instruction) -> None:
        op, program = instruction.op, self.program
        number = len(program.op)
        queue = queue_of(op)
        waits: dict[int, int] = {}
        for view in instruction.reads:
            tile = self._tile(view, waits)
            self._read(tile, self._box(view), number, queue, waits)
        for view in instruction.writes:
            tile = self._tile(view, waits)
            self._write(tile, self._box(view), number, queue, waits)
        found = self._ids.get(op)
        if found is None:
            found = self._ids[op] = len(program.ops)
            program.ops.append(op)
        place = (instruction.file, instruction.line)
        at = self._places.get(place)
        if at is None:
            at = self._places[place] = len(program.places)
            program.places.append(place)
        program.op.append(found)
        program.place.append(at)
        program.deps.extend([each for each in waits.values() if each >> 2 != number])
        program.first.append(len(program.deps))

    # Tiles --------------------------------------------------------------------------------------

    def _tile(self, view: NkiTensor, waits: dict[int, int]) -> _Tile:
        storage = view.storage
        if storage.place is not None:
            storage = storage.place[0]
        tile = self._tiles.get(storage.life)
        if tile is None:
            form = storage.form
            tile = self._tiles[storage.life] = _Tile(storage.life, form.buffer.memory)
            if storage.ledger is not None:
                tile.bytes = form.free * form.dtype.size
                self._make_room(tile, waits)
        return tile

    def _make_room(self, new: _Tile, waits: dict[int, int]) -> None:
        """A tile that no longer fits waits for those dropped first, whose place it takes."""
        memory = new.memory
        held = self._held[memory] + new.bytes
        if held > self._room[memory]:
            for life, tile in list(self._tiles.items()):
                if life.alive or tile.memory != memory or tile is new:
                    continue
                for entries in tile.groups.values():
                    for entry in entries:
                        _wait(waits, entry.writers, BUFFER)
                        _wait(waits, entry.readers, BUFFER)
                held -= tile.bytes
                del self._tiles[life]
                if held <= self._room[memory]:
                    break
        self._held[memory] = held

    # Accesses -----------------------------------------------------------------------------------

    def _read(self, tile: _Tile, box: Box, number: int, queue: int, waits: dict[int, int]) -> None:
        p0, p1, f0, f1 = box
        for group in range(p0 >> _ROWS, ((p1 - 1) >> _ROWS) + 1):
            known = False
            entries = tile.groups.setdefault(group, [])
            for entry in entries:
                a, b, c, d = entry.box
                if a < p1 and p0 < b and c < f1 and f0 < d:
                    if entry.writers:
                        _wait(waits, entry.writers, RAW)
                    entry.readers[queue] = number
                    known = known or (a <= p0 and p1 <= b and c <= f0 and f1 <= d)
            if not known:
                entries.append(_Entry(box, {}, {queue: number}))
                if len(entries) > _MAX_BOXES:
                    _merge(entries)

    def _write(self, tile: _Tile, box: Box, number: int, queue: int, waits: dict[int, int]) -> None:
        p0, p1, f0, f1 = box
        own = queue if queue < LOAD else -1
        for group in range(p0 >> _ROWS, ((p1 - 1) >> _ROWS) + 1):
            entries = tile.groups.get(group)
            if entries is None:
                tile.groups[group] = [_Entry(box, {queue: number}, {})]
                continue
            kept: list[_Entry] = []
            for entry in entries:
                a, b, c, d = entry.box
                if a < p1 and p0 < b and c < f1 and f0 < d:
                    # An engine works in order: it cannot overtake its own reads and writes, and matmuls
                    # that add up in one region follow each other in the array's pipeline.
                    if entry.readers:
                        _wait(waits, entry.readers, WAR, own)
                    if entry.writers:
                        _wait(waits, entry.writers, WAW, own)
                    if p0 <= a and b <= p1 and f0 <= c and d <= f1:
                        continue
                kept.append(entry)
            kept.append(_Entry(box, {queue: number}, {}))
            if len(kept) > _MAX_BOXES:
                _merge(kept)
            tile.groups[group] = kept

    def _box(self, view: NkiTensor) -> Box:
        storage, form = view.storage, view.form
        if form.indirect or storage.place is not None:
            region = view.region
            if region.storage.form.on_chip:
                size = region.storage.form.dtype.size
                return (*region.partition, region.free[0] * size, region.free[1] * size)
            root = region.storage.form
            return (0, root.shape[0], 0, root.nbytes // root.shape[0])
        key = (form, storage.form, view.offset)
        found = self._boxes.get(key)
        if found is None:
            if len(self._boxes) > 1 << 16:
                self._boxes.clear()
            found = self._boxes[key] = _box(form, storage.form, view.offset)
        return found


def queue_of(op: Op) -> int:
    if op.engine == DMA:
        return STORE if op.variables.get("dst") == "hbm" else LOAD
    return QUEUES.index(op.engine) if op.engine in QUEUES else 3


def _wait(waits: dict[int, int], users: Users, kind: int, own: int = -1) -> None:
    """The latest user of each queue; of two reasons to wait for the same one the first stays."""
    for queue, number in users.items():
        if queue != own and waits.get(queue, -1) >> 2 < number:
            waits[queue] = number << 2 | kind


def _merge(entries: list[_Entry]) -> None:
    """Too many boxes to search: their hull stands for them, which waits for more, never for less."""
    hull = _Entry(entries[0].box, {}, {})
    for entry in entries:
        a, b, c, d = hull.box
        p0, p1, f0, f1 = entry.box
        hull.box = (min(a, p0), max(b, p1), min(c, f0), max(d, f1))
        for mine, theirs in ((hull.writers, entry.writers), (hull.readers, entry.readers)):
            for queue, number in theirs.items():
                mine[queue] = max(mine.get(queue, -1), number)
    entries[:] = [hull]


def _box(form: Form, root: Form, offset: int) -> Box:
    """Rows and bytes of a row; a view across rows of HBM takes whole rows."""
    size = form.dtype.size
    row = root.free * root.dtype.size if root.on_chip else root.nbytes // root.shape[0]
    first, start = divmod(offset * size, row)
    low, high = _span(form.shape[1:], form.strides[1:], size)
    step = form.strides[0] * size
    if step % row == 0 and start + low >= 0 and start + high <= row:
        last = first + (form.shape[0] - 1) * (step // row)
        return (min(first, last), max(first, last) + 1, start + low, start + high)
    low, high = _span(form.shape, form.strides, size)
    begin, end = offset * size + low, offset * size + high
    if begin // row == (end - 1) // row:
        return (begin // row, begin // row + 1, begin % row, (end - 1) % row + 1)
    return (begin // row, (end - 1) // row + 1, 0, row)


def _span(shape: Any, strides: Any, size: int) -> tuple[int, int]:
    low = high = 0
    for count, stride in zip(shape, strides, strict=True):
        reach = (count - 1) * stride * size
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + size
