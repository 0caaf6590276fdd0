"""Instruction counts of a kernel that has an NKI implementation, recorded once per core and point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from trnbench.emulator.core.builder import Builder
from trnbench.emulator.core.emulate import Piece, counted
from trnbench.emulator.core.program import Program
from trnbench.errors import KernelError, TrnbenchError
from trnbench.generation import System
from trnbench.kernels.case import Case
from trnbench.nki import Machine, TensorSpec, record
from trnbench.nki.instruction import Op
from trnbench.nki.provide import provide
from trnbench.nki.recorder import TooManyInstructions
from trnbench.nki.source import Source, Sources

CALL_LIMIT = 500_000
"""Instructions of one case: a second or two where loops fold. A kernel that issues more needs pieces."""

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
    program: Program
    pieces: tuple[Piece, ...]
    ref: str  # of the kernel


class Recorder:
    """Records in timing mode and keeps what it recorded; each piece of a problem a few times in a row."""

    def __init__(self, limit: int = CALL_LIMIT) -> None:
        self.limit = limit
        self._sources = Sources()
        self._known: dict[Any, Recording | KernelError] = {}
        self._machines: dict[int, tuple[System, Machine]] = {}

    def of(self, case: Case, system: System) -> Recording | None:
        """None where the kernel declares no NKI source for this point.

        Raises `KernelError` where it has one that cannot be loaded, asked or recorded: nothing else may
        stand in for that.
        """
        source = taken(self._sources, case)
        if source is None:
            return None
        machine = self._machine(system)
        key = (source.ref, machine, source.inputs)
        if key not in self._known:
            try:
                self._known[key] = self._record(source, machine)
            except KernelError as error:
                self._known[key] = error
        found = self._known[key]
        if isinstance(found, KernelError):
            raise found.with_traceback(None)  # one error for every case that meets it
        return found

    def _machine(self, system: System) -> Machine:
        found = self._machines.get(id(system))
        if found is None or found[0] is not system:
            found = self._machines[id(system)] = (system, Machine.of(system))
        return found[1]

    def _record(self, source: Source, machine: Machine) -> Recording:
        kernel, specs, parts = source.kernel, source.inputs, source.pieces()
        if len(parts) > 1 and sum(times for _, times in parts) <= FEW * len(parts):
            parts = ((specs, 1),)
        builder = Builder(machine)
        found: list[Piece] = []

        def carry_out(part: Any) -> int:
            given, before = [argument(each) for each in part], len(builder.program)
            record(kernel, given, machine=machine, sink=builder, limit=self.limit)
            # Of a Beta 1 kernel not every call is left: its compiler takes some out.
            return len(builder.program) - before

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
            raise unrecorded(source, error) from error
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
        return Recording(total, calls, how, str(source.by), program, tuple(found), source.ref)


def taken(sources: Sources, case: Case) -> Source | None:
    """The NKI source that takes the case's point; None where the kernel declares that it has none.

    Raises `KernelError` for a source that cannot be loaded, or asked for its arguments.
    """
    try:
        return sources.taking(case.kernel.nki_sources, case.key.point)
    except TrnbenchError as error:
        what = f"the NKI source of {case.kernel.name} cannot be used: {error.what}"
        raise KernelError(what, cause=error.cause, try_=error.try_) from error


def unrecorded(source: Source, error: KernelError) -> KernelError:
    """`error` of a kernel that was being recorded, with the place of the kernel."""
    next_ = error.try_
    if isinstance(error, TooManyInstructions):
        next_ = f"check the loop's bounds, or cut the problem: def {source.name}_pieces(inputs)"
    what = f"{source.ref} ({source.place}) cannot be recorded: {error.what}"
    return KernelError(what, cause=error.cause, try_=next_)


def argument(given: Any) -> Any:
    """(shape, dtype) stands for a tensor; what is no pair is handed on as it is."""
    return TensorSpec(tuple(given[0]), given[1]) if isinstance(given, tuple) else given
