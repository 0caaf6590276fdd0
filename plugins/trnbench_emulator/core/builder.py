"""From instructions as they are recorded to a program: what each must wait for."""

from __future__ import annotations

from trnbench_emulator.core.access import Access
from trnbench_emulator.core.loop import skip
from trnbench_emulator.core.program import KIND_BITS, LOAD, RAW, queue_of
from trnbench_emulator.core.recorded_state import Level, RecordedState
from trnbench_emulator.core.scoreboard import merge, read, write_sole, write_to
from trnbench_emulator.core.tile import Users
from trnbench_emulator.nki.instruction import Instruction
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.memory import AGES
from trnbench_emulator.nki.op import Op
from trnbench_emulator.nki.site import Place
from trnbench_emulator.nki.tensor import NkiTensor

Views = tuple[NkiTensor, ...]

_NOTHING: Users = {}

_LEAST = 64  # instructions of a first round below which nothing is noted after it


class Builder(RecordedState):
    """Takes instructions as they are recorded. Tiles that Python has dropped are forgotten.

    Of loops that may be folded it learns by `watch`, `round` (at the start of each round) and `unwatch`.
    """

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._ops: dict[Op, tuple[int, int]] = {}  # number and queue
        self._places: dict[Place, int] = {}
        self._hazards: Users = {}  # of the instruction that is taken
        self._freed: Users = {}  # who used the places that its new tiles take
        self._since = 0  # the first instruction of the innermost round that is watched

    def take(self, instruction: Instruction) -> None:
        self.issue(
            instruction.op, instruction.writes, instruction.reads, (instruction.file, instruction.line)
        )

    def issue(self, op: Op, writes: Views, reads: Views, place: Place) -> None:
        program = self.program
        kind, queue = self._ops.get(op) or self._op(op)
        line = self._places.get(place)
        if line is None:
            line = self._places[place] = len(program.places)
            program.places.append(place)
        number = len(program.op)
        hazards, freed = self._hazards, self._freed  # empty
        if self.log is not None:
            self._logged(writes, reads, number, queue, hazards, freed)
        else:
            if reads:
                self._read_all(reads, number, queue, hazards, freed)
            self._write_all(writes, number, queue, hazards, freed)
        program.op.append(kind)
        program.place.append(line)
        if hazards or freed:
            self.wait(number, queue, hazards, freed)
            hazards.clear()
            freed.clear()

    def _read_all(self, reads: Views, number: int, queue: int, hazards: Users, freed: Users) -> None:
        """As `_access`, which costs a call, of every operand."""
        tiles = self._tiles
        for view in reads:
            tile = tiles.get(view.storage.life)
            if tile is None:
                self._access(self._tile(view, number, freed), view, False, number, queue, hazards)
                continue
            tile.users[queue] = number
            sole = tile.sole
            if sole is None:
                use = None if tile.unwritten is not None else tile.uses.get((view.form, view.offset))
                if use is None:
                    self._access(tile, view, False, number, queue, hazards)
                    continue
                if use.version == use.first.version and use.waited >> queue & 1:
                    use.readers[queue] = number
                else:
                    read(use, number, queue, hazards)
                ref = use.ref
            elif sole.form is view.form and sole.offset == view.offset:
                sole.readers[queue] = number
                if not sole.waited >> queue & 1:
                    sole.waited |= 1 << queue
                    for other, writer in sole.written.items():
                        if other not in hazards or hazards[other] >> KIND_BITS < writer:
                            hazards[other] = writer << KIND_BITS | RAW
                ref = sole.ref
            else:
                self._access(tile, view, False, number, queue, hazards)
                continue
            if ref:
                self._refs.append(ref)
                self._owners.append(number)

    def _write_all(self, writes: Views, number: int, queue: int, hazards: Users, freed: Users) -> None:
        """As `_access`, which costs a call, of every operand."""
        tiles = self._tiles
        for view in writes:
            tile = tiles.get(view.storage.life)
            if tile is None:
                if not self._begun(view, number, queue, freed):
                    self._access(self._tile(view, number, freed), view, True, number, queue, hazards)
                continue
            tile.users[queue] = number
            sole = tile.sole
            if sole is None:
                use = tile.uses.get((view.form, view.offset))
                if use is None:
                    self._access(tile, view, True, number, queue, hazards)
                    continue
                write_to(use, number, queue, hazards)
                ref = use.ref
            elif sole.form is view.form and sole.offset == view.offset:
                if queue < LOAD and not sole.readers and queue in sole.written:
                    sole.written[queue] = number
                else:
                    write_sole(sole, number, queue, hazards)
                ref = sole.ref
            else:
                self._access(tile, view, True, number, queue, hazards)
                continue
            if ref:
                self._refs.append(ref)
                self._owners.append(number)

    def _op(self, op: Op) -> tuple[int, int]:
        entry = self._ops[op] = len(self.program.ops), queue_of(op)
        self.program.ops.append(op)
        return entry

    def _logged(
        self, writes: Views, reads: Views, number: int, queue: int, hazards: Users, freed: Users
    ) -> None:
        """The same, and what each operand had to wait for is noted."""
        log, since, tiles = self.log, self._since, self._tiles
        assert log is not None
        for views, write in ((reads, False), (writes, True)):
            for view in views:
                storage, form, offset = view.storage, view.form, view.offset
                tile = tiles.get(storage.life)
                if tile is None:
                    if write and self._begun(view, number, queue, freed):
                        tile = tiles[storage.life]
                        log.append(
                            Access(tile, form, storage.form, offset, True, number, queue, number, _NOTHING)
                        )
                        continue
                    tile = self._tile(view, number, freed)
                own = _NOTHING
                use = tile.uses.get((form, offset)) if not write and tile.unwritten is None else None
                if use is not None and use.version == use.first.version and use.waited >> queue & 1:
                    # Read again: its queue has nothing to wait for.
                    tile.users[queue] = use.readers[queue] = number
                    if use.ref:
                        self._refs.append(use.ref)
                        self._owners.append(number)
                elif tile.born < since and tile.unwritten is None:
                    own = {}
                    self._access(tile, view, write, number, queue, own)
                    merge(hazards, own)
                else:
                    self._access(tile, view, write, number, queue, hazards)
                if storage.place is not None or form.indirect:
                    log.append(None)
                else:
                    log.append(Access(tile, form, storage.form, offset, write, number, queue, tile.born, own))

    # Loops --------------------------------------------------------------------------------------

    def watch(self) -> None:
        """A loop begins of which all is noted that `skip` needs."""
        if self.log is None:
            self.log = []
        self.levels.append(Level())

    def round(self) -> None:
        level = self.levels[-1]
        begin = len(self.program.op)
        assert self.log is not None
        if len(level.starts) > 1 or (level.starts and begin - level.starts[0] >= _LEAST):
            self.look()
        level.ages.append(AGES.next)
        level.logged.append(len(self.log))
        level.starts.append(begin)
        self._since = begin

    def unwatch(self) -> None:
        """The rest of the innermost loop that is watched is as what stands around it."""
        self.levels.pop()
        self._since = self.levels[-1].starts[-1] if self.levels else 0
        if not self.levels:
            self.log = None

    def skip(self, period: int, times: int, most: int) -> tuple[int, int]:
        """Append up to `times` more of the last `period` rounds of the innermost loop.

        Returns how many, and how many instructions that makes; none, and nothing is changed, where these
        rounds are not like those before or `times` more were more than `most` instructions.
        """
        return skip(self, period, times, most)
