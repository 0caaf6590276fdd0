"""Hazards of a box of memory, and the scoreboard of what each queue has waited for."""

from __future__ import annotations

from trnbench_emulator.core.program import BUFFER, KIND_BITS, LOAD, QUEUES, RAW, WAR, WAW, Program
from trnbench_emulator.core.tile import Area, Box, Sole, Tile, Use, Users

ROWS_BITS = 7  # boxes are found by groups of 128 rows
ROWS = 1 << ROWS_BITS


def use_of(tile: Tile, box: Box, ref: int) -> Use:
    """`box` of `tile`, with the areas it lies in. `ref`: its banks."""
    tile.divide()
    first, last = box[0] >> ROWS_BITS, (box[1] - 1) >> ROWS_BITS
    areas = [tile.areas.setdefault(group, Area()) for group in range(first, last + 1)]
    return Use(box, areas, areas[0], ref)


def look(use: Use, hazards: Users) -> None:
    """What a read waits for: who wrote there last."""
    mine = use.box
    for area in use.areas:
        for box, users in area.writes:
            # As `overlap`, which costs a call; boxes with more dimensions ask it.
            if box is mine or (
                box[0] < mine[1]
                and mine[0] < box[1]
                and box[2] < mine[3]
                and mine[2] < box[3]
                and (len(box) == 4 or overlap(box, mine))
            ):
                wait_for(users, hazards, RAW)


def read(use: Use, number: int, queue: int, hazards: Users) -> None:
    """Instruction `number` of `queue` reads it."""
    look(use, hazards)
    for area in use.areas:
        area.read(use, number, queue)
    if len(use.areas) > 1:
        return
    version = use.first.version
    if version != use.version:
        use.version, use.waited = version, 1 << queue
    else:
        use.waited |= 1 << queue


def read_again(use: Use, number: int, queue: int, hazards: Users) -> None:
    """As `read`; where nothing was written since `queue` has read it, there is nothing to wait for."""
    if use.version == use.first.version and use.waited >> queue & 1:
        use.readers[queue] = number
    else:
        read(use, number, queue, hazards)


def meet(use: Use, queue: int, hazards: Users) -> None:
    """What a write waits for: who read or wrote there last.

    An engine works in order: it cannot overtake its own reads and writes, and matmuls that add up in one
    region follow each other in the array's pipeline.
    """
    own = queue if queue < LOAD else -1
    for area in use.areas:
        for box, users in area.reads.items():
            if overlap(box, use.box):
                wait_for(users, hazards, WAR, own)
        for box, users in area.writes:
            if overlap(box, use.box):
                wait_for(users, hazards, WAW, own)


def write_to(use: Use, number: int, queue: int, hazards: Users) -> None:
    """Instruction `number` of `queue` writes it."""
    first = use.first
    if not first.reads and len(first.writes) == 1 and queue < LOAD and len(use.areas) == 1:
        box, users = first.writes[0]
        if (box is use.box or box == use.box) and len(users) == 1 and queue in users:
            users[queue] = number  # once more by the same engine, and nobody has looked in between
            return
    meet(use, queue, hazards)
    for area in use.areas:
        area.write(use.box, number, queue)


def write_sole(sole: Sole, number: int, queue: int, hazards: Users) -> None:
    """Instruction `number` of `queue` writes the one box of a tile."""
    own = queue if queue < LOAD else -1
    wait_for(sole.readers, hazards, WAR, own)
    wait_for(sole.written, hazards, WAW, own)
    sole.written, sole.readers, sole.waited = {queue: number}, {}, 0


def overlap(one: Box, other: Box) -> bool:
    return (
        one[0] < other[1]
        and other[0] < one[1]
        and one[2] < other[3]
        and other[2] < one[3]
        and (len(one) == 4 or _meet(one, other))
    )


def _meet(one: Box, other: Box) -> bool:
    """In every dimension of a tensor in device memory."""
    return all(one[at] < other[at + 1] and other[at] < one[at + 1] for at in range(4, len(one), 2))


def wait_for(users: Users, hazards: Users, kind: int, own: int = -1) -> None:
    """For the last of each queue, but of the queue `own`."""
    for queue, number in users.items():
        if queue != own and hazards.get(queue, -1) >> KIND_BITS < number:
            hazards[queue] = number << KIND_BITS | kind


_WIDTH = len(QUEUES)
_PAIRS = _WIDTH * _WIDTH


class Scoreboard:
    """For each pair of queues the last instruction that one has waited for, with buffers and without: a
    schedule may leave buffers out. The program takes the waits that are new.
    """

    def __init__(self, program: Program) -> None:
        self._deps = program.deps
        self._waiters = program.waiters
        self._waited = [-1] * _PAIRS
        self._solid = [-1] * _PAIRS

    def wait(self, number: int, queue: int, hazards: Users, freed: Users) -> None:
        """Note what `number` waits for, but for what its queue has waited for before."""
        waited, solid, base = self._waited, self._solid, queue * _WIDTH
        if hazards:
            # By queue: in which order they were found depends on what had been waited for already.
            for source_queue, dep in sorted(hazards.items()) if len(hazards) > 1 else hazards.items():
                source, pair = dep >> KIND_BITS, base + source_queue
                if source > solid[pair] and source != number:
                    solid[pair] = source
                    if source > waited[pair]:
                        waited[pair] = source
                    self._deps.append(dep)
                    self._waiters.append(number)
        if freed:
            for source_queue, source in sorted(freed.items()) if len(freed) > 1 else freed.items():
                pair = base + source_queue
                if source > waited[pair]:
                    waited[pair] = source
                    self._deps.append(source << KIND_BITS | BUFFER)
                    self._waiters.append(number)
