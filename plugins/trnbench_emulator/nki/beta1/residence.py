"""Which tiles of a Beta 1 kernel are in SBUF and PSUM when, and whose place each takes.

The compiler of Beta 1 decides it: capacity is no rule there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import chain, count

from msgspec.structs import replace

from trnbench_emulator.nki import isa
from trnbench_emulator.nki.beta1.deferral import ROUNDS
from trnbench_emulator.nki.beta1.elision import Recorded, known, uncopied
from trnbench_emulator.nki.instruction import Instruction, Listing, Operands
from trnbench_emulator.nki.memory import Buffer, Life, Storage
from trnbench_emulator.nki.op import Op
from trnbench_emulator.nki.recorder import Recorder
from trnbench_emulator.nki.tensor import NkiTensor

Taken = tuple[Life, tuple[Life, ...]]
"""A tile, and those whose place it takes."""


def places(instructions: Sequence[Instruction], memories: Mapping[Buffer, Memory]) -> dict[int, list[Taken]]:
    """By the number of an instruction, the tiles that begin with it and do not fit beside those before them.

    `memories`: SBUF and PSUM.
    A tile is in use from its first instruction to its last, in the order of the program. Where it does not
    fit, it takes the places of those that nobody uses any more, the one that is so for longest first: of all
    choices the one that waits least. In PSUM more may be in use than there is; nothing is waited for then.
    """
    first, last = _uses(instructions)
    takeovers: dict[int, list[Taken]] = {}
    for storage, number in first.items():
        life, form = storage.life, storage.form
        ended = memories[form.buffer].room(life, form.row_bytes, number, last[storage])
        if ended:
            takeovers.setdefault(number, []).append((life, ended))
    return takeovers


class Memory:
    """Bytes per partition that are held, the tiles in use, and those that nobody uses any more.

    `peak`: of the bytes in use.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self.peak = 0
        self._busy = 0  # bytes in use
        self._held = 0
        self._used: list[tuple[int, int, Life, int]] = []  # by last use, the first to end first
        self._order = count()  # of equal ones the first to begin
        self._idle: deque[tuple[Life, int]] = deque()  # in the order of their last uses

    def room(self, life: Life, size: int, number: int, last: int) -> tuple[Life, ...]:
        """Those whose place a tile takes that is used from instruction `number` to `last`."""
        used, idle = self._used, self._idle
        while used and used[0][0] < number:
            _, _, ended, bytes_ = heappop(used)
            idle.append((ended, bytes_))
            self._busy -= bytes_
        self._held += size
        self._busy += size
        self.peak = max(self.peak, self._busy)
        replaced = []
        while self._held > self._capacity and idle:
            ended, bytes_ = idle.popleft()
            self._held -= bytes_
            replaced.append(ended)
        heappush(used, (last, next(self._order), life, size))
        return tuple(replaced)


def _uses(instructions: Sequence[Instruction]) -> tuple[dict[Storage, int], dict[Storage, int]]:
    """Of each tile, in the order in which they begin, its first and its last instruction."""
    first: dict[Storage, int] = {}
    last: dict[Storage, int] = {}
    for number, instruction in enumerate(instructions):
        for view in (*instruction.reads, *instruction.writes):
            storage = view.storage
            if storage.form.on_chip:
                if storage not in last:
                    first[storage] = number
                last[storage] = number
    return first, last


@contextmanager
def compiling(recorder: Recorder) -> Iterator[None]:
    """What is recorded inside comes out as the compiler would have it."""
    recording: list[Recorded] = []

    def take(op: Op, writes: Operands, reads: Operands, place: tuple[str, int]) -> None:
        for view in (*writes, *reads):
            storage = view.storage
            if storage.ledger is not None:  # kept until the end here, and no rule is broken by it
                storage.ledger.release(storage.life)
                storage.ledger = None
        rounds = tuple(ROUNDS) if ROUNDS else ()
        recording.append(Recorded(Instruction(op, writes, reads, *place), rounds))

    before, recorder.issue = recorder.issue, take
    try:
        yield
    finally:
        recorder.issue = before
    compiled = list(Residence(uncopied(recording, recorder), recorder).compiled())
    memories = {buffer: Memory(ledger.capacity) for buffer, ledger in recorder.ledgers.items()}
    begins = places(compiled, memories)
    for buffer, ledger in recorder.ledgers.items():
        ledger.peak = min(memories[buffer].peak, ledger.capacity)  # a compiler finds an order that fits
    for number, instruction in enumerate(compiled):
        takeovers = begins.get(number, ())
        for life, ended in takeovers:
            life.takes = ended
        before(instruction.op, instruction.writes, instruction.reads, (instruction.file, instruction.line))
        for life, _ in takeovers:
            life.takes = ()  # else lives would hold each other, from the first to the last


class Residence:
    """Tiles take room from their first use to their last.

    Where it runs out, tiles leave that nobody uses before their value comes again, the oldest first. After
    them the one that is used last of all: dropped if it holds a load, which is then repeated, else stored in
    HBM first. No other rule moves less (Belady, IBM Systems Journal 5, 1966); a compiler that plans with
    less knowledge moves more.
    """

    def __init__(self, recorded: Sequence[Recorded], recorder: Recorder) -> None:
        instructions = self._instructions = [instruction for instruction, _ in recorded]
        self._recorder = recorder
        self._room = recorder.ledgers[Buffer.SBUF].capacity
        self._again, self._repeatable = known(recorded, recorder.assumptions)
        self._same = {instructions[at].writes[0].storage: first for at, first in self._again.items()}
        self._fixed = _indirect(instructions)
        self._tiles = self._with_next_uses()
        self._next_use: dict[Storage, int] = {}  # of tiles in SBUF that somebody needs
        self._held: dict[Storage, Storage] = {}  # tiles in SBUF, and the place of each
        self._elsewhere = set(self._same)  # tiles that are, or may be, in another place than their own
        self._bytes = 0
        self._next: list[tuple[int, int, Storage]] = []  # by next use, last first; entries may be out of date
        self._turn = count()
        self._used_since: list[tuple[int, int, Storage]] = []  # entries of `_next` that nobody needed yet
        self._idle: dict[Storage, None] = {}  # not used before their value comes again, oldest first
        self._loads: dict[Storage, Instruction] = {}  # what brings a tile's value back
        self._copies: dict[Storage, NkiTensor] = {}  # where a tile's value is in HBM

    def compiled(self) -> Iterator[Instruction]:
        """The instructions with those left out and those added."""
        for number, instruction in enumerate(self._instructions):
            tiles = self._tiles[number]
            first = self._again.get(number)
            if first is None or first not in self._held:
                for tile in tiles:
                    if tile not in self._held:
                        yield from self._placed(tile, tiles, instruction)
                yield self._moved(instruction)
                self._written(instruction, number)
            else:
                self._recorder.assumes("residence" if instruction.op.opcode == "dma_copy" else "hoisting")
            for tile, following in tiles.items():
                self._used(tile, following)

    def _used(self, tile: Storage, following: int) -> None:
        """Does anybody need it, and when?"""
        self._idle.pop(tile, None)
        if following < 0:
            self._gone(tile)
            return
        self._next_use[tile] = following
        if following in self._again:
            self._idle[tile] = None
        else:
            self._used_since.append((-following, next(self._turn), tile))

    def _with_next_uses(self) -> list[dict[Storage, int]]:
        """Of each instruction the tiles of SBUF, with the number of the next that uses them, -1 for none."""
        same, fixed = self._same, self._fixed
        upcoming: dict[Storage, int] = {}
        tiles_of: list[dict[Storage, int]] = []
        for number in range(len(self._instructions) - 1, -1, -1):
            instruction = self._instructions[number]
            tiles: dict[Storage, int] = {}
            for view in (*instruction.reads, *instruction.writes):
                storage = view.storage
                if storage.form.buffer is Buffer.SBUF and storage not in fixed:
                    tile = same.get(storage, storage)
                    if tile not in tiles:
                        tiles[tile] = upcoming.get(tile, -1)
                        upcoming[tile] = number
            tiles_of.append(tiles)
        tiles_of.reverse()
        return tiles_of

    def _placed(
        self, tile: Storage, needed: Mapping[Storage, int], each: Instruction
    ) -> Iterator[Instruction]:
        """Room for a tile, and its value where it has one."""
        form = tile.form
        while self._bytes + form.row_bytes > self._room:
            last = self._last(needed)
            if last is None:
                break
            yield from self._left(last, each)
        fresh = tile
        if tile in self._loads or tile in self._copies:
            life = Life(self._recorder.count, form.row_bytes, tile.life.site)
            fresh = Storage(form, tile.name, life, None)
            self._elsewhere.add(tile)
        self._held[tile] = fresh
        self._bytes += form.row_bytes
        if any(self._same.get(view.storage) is tile for view in each.writes):
            return  # the instruction itself comes again
        load = self._loads.get(tile)
        if load is not None:
            yield replace(load, writes=(_at(load.writes[0], fresh),))
        elif tile in self._copies:
            yield self._transfer(NkiTensor(fresh, form, 0), self._copies[tile], each)

    def _last(self, needed: Mapping[Storage, int]) -> Storage | None:
        """Of the tiles in SBUF that are not `needed` now, the one to leave; None where none does."""
        for tile in self._idle:
            if tile not in needed:
                return tile
        if "spilling" not in self._recorder.assumptions:
            return None
        for entry in self._used_since:
            heappush(self._next, entry)
        self._used_since.clear()
        entries: list[tuple[int, int, Storage]] = []
        latest = None
        while self._next and latest is None:
            entry = heappop(self._next)
            tile = entry[2]
            if tile not in self._held or -entry[0] != self._next_use[tile]:
                continue  # it has gone, or was used since
            if tile in needed:
                entries.append(entry)
            else:
                latest = tile
        for entry in entries:
            heappush(self._next, entry)
        return latest

    def _left(self, tile: Storage, each: Instruction) -> Iterator[Instruction]:
        """A tile makes room for another."""
        if tile not in self._idle:
            self._recorder.assumes("spilling")
        if tile not in self._idle and tile not in self._loads and tile not in self._copies:
            form = tile.form
            copy = self._recorder.allocate(form.shape, form.dtype, Buffer.PRIVATE_HBM)
            self._copies[tile] = copy
            yield self._transfer(copy, NkiTensor(self._held[tile], form, 0), each)
        self._gone(tile)

    def _gone(self, tile: Storage) -> None:
        self._idle.pop(tile, None)
        if self._held.pop(tile, None) is not None:
            self._bytes -= tile.form.row_bytes

    def _written(self, each: Instruction, number: int) -> None:
        repeatable = number in self._repeatable
        if not (repeatable or self._copies):
            return
        for view in each.writes:
            tile = self._same.get(view.storage, view.storage)
            self._copies.pop(tile, None)
            if repeatable:
                self._loads[tile] = each

    def _moved(self, each: Instruction) -> Instruction:
        """The instruction on the places its tiles have now."""
        for view in (*each.reads, *each.writes):
            if view.storage in self._elsewhere:
                reads, writes = (tuple(map(self._now, views)) for views in (each.reads, each.writes))
                return replace(each, writes=writes, reads=reads)
        return each

    def _now(self, view: NkiTensor) -> NkiTensor:
        held = self._held.get(self._same.get(view.storage, view.storage))
        return view if held is None or held is view.storage else _at(view, held)

    def _transfer(self, dst: NkiTensor, src: NkiTensor, each: Instruction) -> Instruction:
        """A copy between SBUF and HBM that the kernel did not ask for."""
        transfers, recorder = Listing(), self._recorder
        before, functional, shadow = recorder.issue, recorder.functional, recorder.shadow
        recorder.issue, recorder.functional, recorder.shadow = transfers.issue, False, None
        try:
            isa.dma_copy(dst, src)
        finally:
            recorder.issue, recorder.functional, recorder.shadow = before, functional, shadow
        return replace(transfers.instructions[0], file=each.file, line=each.line)


def _indirect(instructions: Sequence[Instruction]) -> set[Storage]:
    """Tiles that are addressed at run time, or lie where the kernel says: they stay where they are."""
    return {
        view.storage
        for instruction in instructions
        for view in chain(instruction.reads, instruction.writes)
        if view.form.indirect or view.storage.place is not None
    }


def _at(view: NkiTensor, storage: Storage) -> NkiTensor:
    return NkiTensor(storage, view.form, view.offset)
