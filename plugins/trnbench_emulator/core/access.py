"""Operands as they are recorded: which box of which tile each uses, and what it waits for."""

from __future__ import annotations

from trnbench_emulator.core.liveness import Liveness
from trnbench_emulator.core.program import Program
from trnbench_emulator.core.scoreboard import (
    ROWS,
    ROWS_BITS,
    read_again,
    use_of,
    write_to,
)
from trnbench_emulator.core.tile import (
    Box,
    Sole,
    Tile,
    Use,
    Users,
    box_of,
    known_box,
)
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.memory import Form
from trnbench_emulator.nki.tensor import NkiTensor

_MOST_USES = 1 << 12
"""Views of one tile that are remembered."""

_MOST_READS = 1 << 16
"""Of a tensor that nobody has written."""


class Accesses(Liveness):
    """Finds the tile and the box of each operand of `program`."""

    def __init__(self, machine: Machine, program: Program) -> None:
        super().__init__(machine)
        self.program = program
        self._refs, self._owners = program.psum.refs, program.psum.owners

    def _tile(self, view: NkiTensor, number: int, freed: Users) -> Tile:
        storage = view.storage
        if storage.place is not None:
            storage = storage.place[0]
        tile = self._tiles.get(storage.life)
        if tile is None:
            form = storage.form
            size = form.free * form.dtype.size if storage.ledger is not None else 0
            tile = Tile(storage.life, form.memory, size, number)
            if not form.on_chip:
                tile.unwritten = []
            if tile.memory == "psum" and size:
                tile.number = self.program.psum.tile(size)
            self.add(tile, freed)
        return tile

    def _begun(self, view: NkiTensor, number: int, queue: int, freed: Users) -> bool:
        """As `_tile` and `_access`, all at once, where a tile on chip begins with a write; is it one?"""
        storage, form = view.storage, view.form
        if storage.place is not None or form.indirect or not form.on_chip:
            return False
        box = known_box(form, storage.form, view.offset)
        if box[1] > ROWS:
            return False
        life = storage.life
        size = life.bytes if storage.ledger is not None else 0
        number_of = ref = 0
        if form.memory == "psum":
            psum = self.program.psum
            number_of = psum.tile(size) if size else 0
            ref = psum.ref(number_of, box)
            self._refs.append(ref)
            self._owners.append(number)
        sole = Sole(form, view.offset, box, ref, {queue: number}, {})
        self.add(Tile(life, form.memory, size, number, number_of, {queue: number}, sole), freed)
        return True

    def _access(
        self, tile: Tile, view: NkiTensor, write: bool, number: int, queue: int, hazards: Users
    ) -> None:
        storage, form = view.storage, view.form
        tile.users[queue] = number
        if tile.unwritten is not None:
            if not write and not form.indirect:
                tile.unwritten.append((form, storage.form, view.offset, number, queue))
                if len(tile.unwritten) > _MOST_READS:
                    self.held_against(tile)
                return
            self.held_against(tile)
        if form.indirect or storage.place is not None:
            use = self._use(tile, box_of(view))
        else:
            use = self._known(tile, form, storage.form, view.offset)
        (write_to if write else read_again)(use, number, queue, hazards)
        if use.ref:
            self._refs.append(use.ref)
            self._owners.append(number)

    def held_against(self, tile: Tile) -> None:
        """Compare the boxes of a tensor in device memory from now on: it is written."""
        reads, tile.unwritten = tile.unwritten or [], None
        for form, root, offset, number, queue in reads:
            read_again(self._known(tile, form, root, offset), number, queue, {})

    def _use(self, tile: Tile, box: Box) -> Use:
        return use_of(tile, box, self.program.psum.ref(tile.number, box) if tile.memory == "psum" else 0)

    def _known(self, tile: Tile, form: Form, root: Form, offset: int) -> Use:
        if tile.sole is not None:
            tile.divide()
        use = tile.uses.get((form, offset))
        return self._new(tile, form, root, offset) if use is None else use

    def _new(self, tile: Tile, form: Form, root: Form, offset: int) -> Use:
        """The first use of a view."""
        box = known_box(form, root, offset)
        area = tile.areas.get(box[0] >> ROWS_BITS)
        if area is not None and (box[1] - 1) >> ROWS_BITS == box[0] >> ROWS_BITS:
            ref = self.program.psum.ref(tile.number, box) if tile.memory == "psum" else 0
            use = Use(box, [area], area, ref)
        else:
            use = self._use(tile, box)
        if len(tile.uses) < _MOST_USES:
            tile.uses[form, offset] = use
        return use
