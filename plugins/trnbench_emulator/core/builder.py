"""From instructions as they are recorded to a program: what each must wait for."""

from __future__ import annotations

from trnbench_emulator.core.access import Accesses
from trnbench_emulator.core.program import LOAD, RAW, Program, queue_of
from trnbench_emulator.core.scoreboard import Scoreboard, read, wait_for, write_sole, write_to
from trnbench_emulator.core.tile import Users
from trnbench_emulator.nki.instruction import Instruction
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.op import Op
from trnbench_emulator.nki.site import Place
from trnbench_emulator.nki.tensor import NkiTensor

Views = tuple[NkiTensor, ...]


class Builder(Accesses, Scoreboard):
    """Takes instructions as they are recorded. Tiles that Python has dropped are forgotten."""

    def __init__(self, machine: Machine) -> None:
        program = Program(machine.psum_banks, machine.psum_bank_bytes)
        Accesses.__init__(self, machine, program)
        Scoreboard.__init__(self, program)
        self._ops: dict[Op, tuple[int, int]] = {}  # number and queue
        self._places: dict[Place, int] = {}
        self._hazards: Users = {}  # of the instruction that is taken
        self._freed: Users = {}  # who used the places that its new tiles take

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
                    wait_for(sole.written, hazards, RAW)
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
