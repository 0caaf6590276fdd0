"""Shadow: follows who wrote which bytes while a kernel is executed, and notes what a device would punish."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from trnbench_emulator.nki import site
from trnbench_emulator.nki.op import DMA, TENSOR, Op
from trnbench_emulator.nki.shadow.cells import Cells, Marks, Placed, spread
from trnbench_emulator.nki.shadow.finding import Finding
from trnbench_emulator.nki.shadow.loop import Loop
from trnbench_emulator.nki.shadow.notes import Notes, Write, tile_text
from trnbench_emulator.nki.shadow.races import Accesses

if TYPE_CHECKING:
    from trnbench_emulator.nki.machine import Machine
    from trnbench_emulator.nki.memory import Form, Storage
    from trnbench_emulator.nki.tensor import NkiTensor

_KEPT = ("tensor_copy_predicated", "nonzero_with_count")
"""What names its destination among its operands only because it leaves some of it as it is."""

_SPARING = ("tensor_copy_predicated", "nc_stream_shuffle", "dma_copy", "dma_transpose")
"""What may leave elements of its destination as they are: `spared` says which."""

_REDUCTIONS = frozenset(
    {"add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "bitwise_and", "bitwise_or"}
)
_GIVEN = 1
"""The number of what was there before the kernel began."""

Operand = tuple[int, "Form", Marks]
"""Its position among those that are read, and which of its elements are unwritten."""


class Shadow(Notes):
    """Of one launch. `several`: programs share memory; `program`: the one that runs, of those in turn."""

    def __init__(self, machine: Machine, programs: int = 1, *, functional: bool = True) -> None:
        super().__init__(machine)
        self.functional = functional
        self.several = programs > 1
        self.program: int | None = None
        self.loops: list[Loop] = []
        self._epochs: dict[int, int] = {}  # meetings that each program has had
        self._sources: dict[int, Any] = {}  # instruction → the finding that its result depends on
        self._accesses = Accesses()
        self._placed = Placed()
        self._sums: dict[str, tuple[Operand, Any]] = {}  # what an engine holds, where that was not written
        self._added: tuple[Marks, Any] | None = None  # what the product to come adds to, likewise
        self._before: Any = None  # the numbers of what the last instruction wrote to, where it may spare some

    def given(self, view: NkiTensor) -> None:
        """The values of `view` are there without a line of the kernel that wrote them."""
        view.storage.life.site = site.NOWHERE
        self.filled(view)

    def filled(self, view: NkiTensor) -> None:
        """The values of `view` are as old as the tile: no round of a loop has put them there."""
        self.cells(view.storage).fill(_GIVEN)

    def cells(self, storage: Storage) -> Cells:
        cells: Cells | None = storage.shadow
        if cells is None:
            cells = storage.shadow = Cells(storage)
            if storage.place is not None:
                self._placed.add(storage, cells)
        return cells

    def issue(
        self, op: Op, writes: Sequence[NkiTensor], reads: Sequence[NkiTensor], place: site.Place, program: int
    ) -> None:
        """One instruction, before its values are computed."""
        opcode, engine = op.opcode, op.engine
        if opcode == "core_barrier":
            return
        program = program if self.program is None else self.program
        product = writes[0] if engine == TENSOR and writes else None
        view_of = (None, 0) if product is None else (product.form, product.offset)
        self.writes.append(Write(place, opcode, program, *view_of))
        self._before = None
        unwritten: list[Operand] = []
        source: Any = None
        for position, view in enumerate(reads):
            if opcode in _KEPT and any(view is dst for dst in writes):
                continue
            if opcode == "nc_matmul_mx" and position > 1:
                continue  # of its scales it reads four partitions of each quadrant
            numbers = self._read(view, program)
            if numbers is None:
                continue
            if self.loops:
                self._carried(op, view, numbers, writes)
            if numbers.min() <= 0:
                unwritten.append((position, view.form, _least(numbers, view.form) <= 0))
                source = self._source(opcode, view, numbers) or source
        if engine not in (DMA, TENSOR):
            unwritten, source = self._held(op, unwritten, source)
        for view in writes:
            self._write(op, view, program, unwritten, source)
            if product is not None:
                self.banks(opcode, view)
            for read in reads:
                if read.storage is view.storage and opcode not in _KEPT:
                    self.shifted(opcode, view, read)
        self._added = None

    def spared(self, view: NkiTensor, marks: npt.NDArray[np.bool_]) -> None:
        """The last instruction left these elements of `view` as they were."""
        if self._before is not None and marks.any():
            cells = self.cells(view.storage)
            numbers = cells.numbers(view.form, view.offset)
            numbers[marks] = np.broadcast_to(self._before, numbers.shape)[marks]
            cells.sound = False

    def product(self, opcode: str, view: NkiTensor, accumulate: bool | None) -> None:
        """A product comes. With `accumulate` unset it overwrites what nobody wrote, and adds to the rest."""
        cells = self.cells(view.storage)
        if accumulate is False or (cells.array is None and not cells.uniform and not accumulate):
            return
        numbers = cells.seen(view.form, view.offset)
        self.groups(opcode, view, numbers, bool(accumulate))
        self.start(opcode, view, numbers)
        if numbers.min() < (1 if accumulate else 0):
            marks = _least(numbers, view.form) < (1 if accumulate else 0)
            self._added = marks, self._source(opcode, view, numbers)

    def meet(self, program: int) -> None:
        """All programs are at one place."""
        self._epochs[program] = self._epochs.get(program, 0) + 1

    def finish(self, outputs: Sequence[NkiTensor]) -> tuple[Finding, ...]:
        """What there is to say once the kernel has ended, errors first."""
        for position, view in enumerate(outputs):
            self._output(position, view)
        for storage, first, second, count in self._accesses.races():
            verb = "writes" if second.write else "reads"
            one, two = self.writes[first.number], self.writes[second.number]
            # What the other program will write is no byte that nobody wrote.
            early = ("uninitialised-read", two.place, storage.life.site, storage.name, storage.form)
            if early in self.findings and self.findings[early].bytes <= count:
                del self.findings[early]
            self.note(
                "race",
                storage,
                f"program {second.program} {verb} {count:,} bytes of {tile_text(storage)} that program "
                f"{first.program} writes by {one}, and nothing orders the two",
                count,
                "nisa.core_barrier between the two, or a part of the tensor for each program",
                site.told(two.place),
            )
        return tuple(sorted(self.findings.values(), key=lambda finding: not finding.error))

    def _output(self, position: int, view: NkiTensor) -> None:
        storage, form = view.storage, view.form
        cells = self.cells(storage)
        numbers = cells.seen(form, view.offset)
        if numbers.min() > 0:
            return
        least = _least(numbers, form)
        missing = least == 0
        if missing.any():
            count = int(missing.sum()) * form.dtype.size
            line = storage.life.site
            self.note(
                "unwritten-output",
                storage,
                f"output {position}, {tile_text(storage)}: nobody wrote {count:,} of its {form.nbytes:,} "
                f"bytes, the first at {np.argwhere(missing)[0].tolist()}",
                count,
                "copy to all of it: mind the last tile, and slices that leave gaps",
                site.told(line) if line[0] else "the kernel",
            )
        depends = least < 0
        tainted = np.unique(least[depends]).tolist()
        seen = set(tainted)
        if self.functional and form.dtype.is_float:  # floats that nobody wrote are NaN, and stay it
            seen = set(least[depends & np.isnan(view.floats())].tolist())
        for number in tainted:
            key: Any = self._sources.get(-number)
            reading = self.findings.get(key)
            if reading is None or reading.rule != "uninitialised-read":
                continue
            if number in seen or not key[-1].dtype.is_float:
                what = f"{reading.what}, and output {position} depends on them"
                self.findings[key] = replace(reading, rule="uninitialised", what=what)

    def _read(self, view: NkiTensor, program: int) -> Any:
        """The numbers of what is read; None where there is nothing to say about them."""
        form = view.form
        cells = view.storage.shadow or self.cells(view.storage)
        if self.several and not form.on_chip:
            epoch = self._epochs.get(program, 0)
            self._accesses.add(view, len(self.writes) - 1, program, epoch, write=False)
        if cells.sound and not (self.loops and self.loops[-1].round > self.loops[0].begin):
            return None
        if cells.array is None:
            return np.int32(cells.uniform)
        if not form.indirect:
            numbers = cells.numbers(form, view.offset)
            if not cells.sound and cells.covers(form) and numbers.min() > 0:
                cells.sound = True
            return numbers
        if not self.functional:
            return None
        positions, inside = view.positions()  # type: ignore[attr-defined]
        numbers = cells.elements(form.dtype.size)[positions]
        numbers[~inside] = _GIVEN
        return numbers

    def _write(self, op: Op, view: NkiTensor, program: int, unwritten: list[Operand], source: Any) -> None:
        form, cells, number = view.form, self.cells(view.storage), len(self.writes) - 1
        if self.several and not form.on_chip:
            self._accesses.add(view, number, program, self._epochs.get(program, 0), write=True)
        if cells.neighbours:
            self._overwritten(view, cells, number)
            number = len(self.writes) - 1
        gaps = op.opcode in _SPARING and op.variables.get("indirect", True) and self.functional
        if gaps and not form.indirect and (source is not None or not cells.sound):
            self._before = np.array(cells.seen(form, view.offset))
        if source is None and self._added is None:
            if cells.covers(form):
                cells.fill(number)
            else:
                self._put(view, cells, np.int32(number))
            return
        marks = spread(op, form, unwritten)
        if self._added is not None:
            marks, source = marks | self._added[0], self._added[1] or source
        self._sources[number] = source
        cells.sound = False
        self._put(view, cells, np.where(marks, -number, number).astype(np.int32))

    def _put(self, view: NkiTensor, cells: Cells, numbers: Any) -> None:
        form = view.form
        if not form.indirect:
            target = cells.numbers(form, view.offset)
            target[...] = numbers[..., None] if numbers.ndim and target.ndim > numbers.ndim else numbers
        elif not self.functional:
            cells.fill(len(self.writes) - 1)
        else:
            positions, inside = view.positions()  # type: ignore[attr-defined]
            values = numbers[inside][:, None] if numbers.ndim else numbers
            cells.elements(form.dtype.size)[positions[inside]] = values

    def _overwritten(self, view: NkiTensor, cells: Cells, number: int) -> None:
        """Tiles that lie under `view` lose what they hold there."""
        for other, numbers in list(self._placed.under(view, cells)):
            numbers[...] = -number
            other.sound = False
            if number not in self._sources:
                self._sources[number] = ("over", tile_text(view.storage), self.writes[number])
                self.writes.append(self.writes[number])  # its own result has a number of its own

    def _held(self, op: Op, unwritten: list[Operand], source: Any) -> tuple[list[Operand], Any]:
        """Engines hold sums from one instruction to the one that reads them out."""
        if op.opcode == "accumulator_read" and op.engine in self._sums:
            operand, source = self._sums[op.engine]
            return [operand], source
        if source is None:
            self._sums.pop(op.engine, None)
        else:
            self._sums[op.engine] = unwritten[0], source
        return unwritten, source

    def _source(self, opcode: str, view: NkiTensor, numbers: Any) -> Any:
        """The finding about what is read here and was not written, or what that depends on."""
        storage, form = view.storage, view.form
        missing = (
            form.nbytes if numbers.ndim == 0 else int((numbers == 0).sum()) * self.cells(storage).granule
        )
        if numbers.max() >= 0 and (numbers == 0).any():
            return self.note(
                "uninitialised-read",
                storage,
                f"{opcode} reads {missing:,} bytes of {tile_text(storage)} that nobody wrote",
                missing,
                "write them before: a copy, nisa.memset, or read a smaller slice",
            )
        source = self._sources.get(-int(numbers.min()))
        if source is not None and source[0] == "over":
            count = int((numbers < 0).sum()) * self.cells(storage).granule
            return self.note(
                "overlapping-tiles",
                storage,
                f"{opcode} reads {count:,} bytes of {tile_text(storage)}, over which {source[1]} was placed "
                f"and written by {source[2]}",
                count,
                "other addresses, or read it before the other tile is written",
            )
        return source

    def _carried(self, op: Op, view: NkiTensor, numbers: Any, writes: Sequence[NkiTensor]) -> None:
        """Does a round read what an earlier round of the same loop wrote?"""
        most = int(np.abs(numbers).max())
        for loop in self.loops:
            if most < loop.begin or loop.round == loop.begin:
                continue
            marks = (numbers >= loop.begin) & (numbers < loop.round)
            earlier = marks.any()
            if not earlier and most not in loop.sums:
                continue
            places = {(dst.storage, dst.form, dst.offset) for dst in writes}
            sums = (view.storage, view.form, view.offset) in places
            if sums and op.variables.get("op", "add") in _REDUCTIONS:
                loop.sums.add(len(self.writes) - 1)
            else:  # a sum is of this round, but not of this round alone
                first = int(numbers[marks].flat[0]) if earlier and numbers.ndim else most
                self.carried(op.opcode, view, self.writes[first])
            return


def _least(numbers: Any, form: Form) -> npt.NDArray[np.int32]:
    """The least number of each element of a view of this form."""
    if numbers.ndim == 0:
        return np.full(form.shape, numbers, np.int32)
    least: npt.NDArray[np.int32] = numbers.min(axis=-1) if numbers.ndim > len(form.shape) else numbers
    return least
