"""Instruction counts of a kernel that has an NKI implementation, recorded once per core and point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from trnbench.emulator.core.builder import Builder
from trnbench.emulator.core.emulate import Piece, counted
from trnbench.emulator.core.program import Program
from trnbench.errors import KernelError
from trnbench.generation import System
from trnbench.kernels.case import Case
from trnbench.nki import Machine, TensorSpec, load_kernel, record
from trnbench.nki.instruction import Op
from trnbench.nki.provide import provide

CALL_LIMIT = 500_000
"""Instructions of one case: a second or two where loops fold. More need pieces, or the work formula."""

WHOLE = 4_000
"""Instructions up to which a problem is recorded whole whose pieces are too short to settle."""

FEW = 3
"""Times that each of several kinds of pieces occurs, on average, up to which a problem is recorded whole."""

COPIES = 4
"""Of a piece that repeats, at most: one behind the other, so that the last goes at the pace of the rest."""

SETTLED = 500
"""Instructions after which the second copy of a piece, or a later one, goes at that pace."""

COPIED = 50_000
"""Instructions of one case up to which pieces are recorded again."""


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
    ref: str = ""  # of the kernel
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
        return next(filter(None, (self._of(ref, case, system) for ref in case.kernel.nki_sources)), None)

    def _of(self, ref: str, case: Case, system: System) -> Recording | None:
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
            made = self._record(kernel, machine, specs, pieces, str(by))
            self._known[key] = msgspec.structs.replace(made, ref=ref)
        return self._known[key]

    def _load(self, ref: str) -> tuple[Any, Any, Any]:
        found = self._kernels.get(ref)
        if found is None:
            found = self._kernels[ref] = load_kernel(ref, nki="trnbench")
        return found

    def _machine(self, system: System) -> Machine:
        found = self._machines.get(id(system))
        if found is None or found[0] is not system:
            found = self._machines[id(system)] = (system, Machine.of(system))
        return found[1]

    def _record(self, kernel: Any, machine: Machine, specs: Any, pieces: Any, by: str) -> Recording:
        parts = pieces(specs) if pieces is not None else ((specs, 1),)
        if len(parts) > 1 and sum(times for _, times in parts) <= FEW * len(parts):
            parts = ((specs, 1),)
        builder = Builder(machine)
        found: list[Piece] = []

        def carry_out(part: Any) -> int:
            given = [argument(each) for each in part]
            return record(kernel, given, machine=machine, sink=builder, limit=self.limit).count

        calls = 0
        try:
            with provide("trnbench"):
                length, repeated = carry_out(parts[0][0]), sum(times for _, times in parts)
                if repeated > 1 and COPIES * length < SETTLED and repeated * length <= WHOLE:
                    builder, parts = Builder(machine), ((specs, 1),)
                    length = carry_out(specs)
                for at, (part, times) in enumerate(parts):
                    begin = found[-1].ends[-1] if found else 0
                    length = carry_out(part) if at else length
                    calls += length
                    ends = [begin + length]
                    while len(ends) < min(times, COPIES):
                        settled = len(ends) > 1 and ends[-1] - begin >= SETTLED
                        if settled or ends[-1] + length > COPIED:
                            break
                        ends.append(ends[-1] + carry_out(part))
                    found.append(Piece(tuple(ends), times))
        except KernelError as error:
            return Recording({}, calls, "", by, problem=error.what)
        program = builder.program
        merged: dict[Any, Op] = {}
        total: dict[Op, int] = {}
        for number, count in counted(program, tuple(found)).items():
            op = program.ops[number]
            op = merged.setdefault(op.key(), op)
            total[op] = total.get(op, 0) + count
        repeated = sum(times for _, times in parts)
        how = "recorded call by call"
        if repeated > len(parts):
            how += f" in {len(parts)} pieces that stand for {repeated}"
        return Recording(total, calls, how, by, program, tuple(found))


def argument(given: Any) -> Any:
    """(shape, dtype) stands for a tensor; what is no pair is handed on as it is."""
    return TensorSpec(tuple(given[0]), given[1]) if isinstance(given, tuple) else given
