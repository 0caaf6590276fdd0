"""Instruction counts of a kernel that has an NKI implementation, recorded once per core and point."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from trnbench.emulator.core.builder import Builder
from trnbench.emulator.core.emulate import Piece
from trnbench.emulator.core.program import Program
from trnbench.errors import KernelError
from trnbench.generation import System
from trnbench.kernels.case import Case
from trnbench.nki import Machine, TensorSpec, load_kernel, record
from trnbench.nki.instruction import Instruction, Op
from trnbench.nki.provide import provide

CALL_LIMIT = 200_000
"""Calls recorded for one case: about a second. A larger problem needs pieces, or the work formula."""


COPIES = 3
"""Of a piece that repeats: one behind the other, so that the last goes at the pace of all that follow."""


SCHEDULED = 5_000
"""Instructions of one case that are scheduled; larger ones are summed, to keep a default run short."""


class _Sink:
    """Counts the ops of each copy of each piece, and builds their program while that is small enough."""

    def __init__(self, machine: Machine) -> None:
        self.builder: Builder | None = Builder(machine)
        self.ops: list[Op] = []
        self.numbers: dict[Op, int] = {}
        self.sequence = array("I")

    @property
    def count(self) -> int:
        return len(self.sequence)

    def take(self, instruction: Instruction) -> None:
        op = instruction.op
        number = self.numbers.get(op)
        if number is None:
            number = self.numbers[op] = len(self.ops)
            self.ops.append(op)
        self.sequence.append(number)
        if self.builder is not None:
            if len(self.sequence) > SCHEDULED:
                self.builder = None
            else:
                self.builder.take(instruction)

    def tally(self, pieces: tuple[Piece, ...]) -> dict[Op, int]:
        """How often each op runs in the whole problem."""
        total: Counter[int] = Counter()
        begin = 0
        for piece in pieces:
            for copy, end in enumerate(piece.ends):
                once = Counter(self.sequence[begin:end])
                weight = 1 + (piece.times - len(piece.ends) if copy == len(piece.ends) - 1 else 0)
                for number, count in once.items():
                    total[number] += count * weight
                begin = end
        return {self.ops[number]: count for number, count in total.items()}


class Recording(msgspec.Struct, frozen=True):
    """`tally`: how often each op runs in the whole problem. `how`: recorded whole, or in pieces.

    `program` is what a scheduler takes: `pieces` says which part of it stands for how many.
    """

    tally: Mapping[Op, int]
    calls: int
    how: str
    by: str  # which nki
    program: Program | None = None
    pieces: tuple[Piece, ...] = ()
    problem: str = ""  # why it could not be recorded; then the tally is empty


class Recorder:
    """Records in timing mode and keeps what it recorded.

    Beside a kernel `fn` its module has `fn_inputs(point)`, the arguments: shapes and data types of
    tensors, other values as they are (None where it cannot take the case), and may have
    `fn_pieces(inputs)`: the independent pieces of the problem, each with how often it occurs. Each
    piece is recorded a few times in a row.
    """

    def __init__(self, limit: int = CALL_LIMIT) -> None:
        self.limit = limit
        self._kernels: dict[str, Any] = {}
        self._known: dict[Any, Recording | None] = {}
        self._machines: dict[int, tuple[System, Machine]] = {}

    def of(self, case: Case, system: System) -> Recording | None:
        """None where the kernel has no NKI implementation that takes this point."""
        ref = case.kernel.implementations.get("nki")
        if not isinstance(ref, str):
            return None
        kernel, module, by = self._load(ref)
        name = ref.rpartition(":")[2]
        inputs = getattr(module, f"{name}_inputs", None)
        if inputs is None:
            raise KernelError(
                f"{ref} cannot be given arguments: its module has no {name}_inputs",
                cause="the shapes of a kernel's arguments follow from a case's point",
                try_=f"def {name}_inputs(point): return ((shape, dtype), …)",
            )
        specs = inputs(case.key.point)
        if specs is None:
            return None
        machine = self._machine(system)
        key = (ref, machine, specs)
        if key not in self._known:
            pieces = getattr(module, f"{name}_pieces", None)
            self._known[key] = self._record(kernel, machine, specs, pieces, str(by))
        return self._known[key]

    def _load(self, ref: str) -> tuple[Any, Any, Any]:
        found = self._kernels.get(ref)
        if found is None:
            found = self._kernels[ref] = load_kernel(ref.replace("::", ":", 1), nki="trnbench")
        return found

    def _machine(self, system: System) -> Machine:
        found = self._machines.get(id(system))
        if found is None or found[0] is not system:
            found = self._machines[id(system)] = (system, Machine.of(system))
        return found[1]

    def _record(self, kernel: Any, machine: Machine, specs: Any, pieces: Any, by: str) -> Recording:
        whole = ((specs, 1),)
        parts = pieces(specs) if pieces is not None else whole
        sink, found = _Sink(machine), []
        calls = 0
        try:
            with provide("trnbench"):
                for part, times in parts:
                    ends = []
                    for copy in range(COPIES):
                        if copy == times or (copy and sink.builder is None):
                            break
                        trace = record(
                            kernel,
                            [_argument(each) for each in part],
                            machine=machine,
                            sink=sink,
                            limit=self.limit,
                        )
                        calls += trace.count if copy == 0 else 0
                        ends.append(sink.count)
                    found.append(Piece(tuple(ends), times))
        except KernelError as error:
            return Recording({}, calls, "", by, problem=error.what)
        merged: dict[Any, Op] = {}
        total: dict[Op, int] = {}
        for op, count in sink.tally(tuple(found)).items():
            op = merged.setdefault(op.key(), op)
            total[op] = total.get(op, 0) + count
        repeated = sum(times for _, times in parts)
        how = "recorded call by call"
        if repeated > len(parts):
            how += f" in {len(parts)} pieces that stand for {repeated}"
        if sink.builder is None:
            how += f"; more than {SCHEDULED:,} instructions are summed per engine, not scheduled"
            return Recording(total, calls, how, by)
        return Recording(total, calls, how, by, sink.builder.program, tuple(found))


def _argument(given: Any) -> Any:
    """(shape, dtype) stands for a tensor; what is no pair is handed on as it is."""
    return TensorSpec(tuple(given[0]), given[1]) if isinstance(given, tuple) else given
