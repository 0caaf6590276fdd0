"""A launch as it was recorded: the instructions of each of its programs, and how often each op runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import msgspec
import numpy as np

from trnbench.errors import KernelError
from trnbench_emulator.core.births import Births
from trnbench_emulator.core.builder import Builder
from trnbench_emulator.core.copies import FirstCopy, Position, first_copy, once_more
from trnbench_emulator.core.equivalence import work_class
from trnbench_emulator.core.launch import Launch
from trnbench_emulator.core.pieces import (
    Parts,
    Piece,
    first_copies,
    pieces_again,
    record_pieces,
    recorded_copies,
    spans,
)
from trnbench_emulator.core.program import Program
from trnbench_emulator.core.rendezvous import check_same_rendezvous
from trnbench_emulator.nki import Machine, record
from trnbench_emulator.nki.op import Op
from trnbench_emulator.nki.provide import provide

Arguments: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""Of a kernel, in order or by name: a `TensorSpec` for a tensor, other values as they are."""


class Recording(msgspec.Struct, frozen=True, dict=True):
    """`programs` of a launch. `pieces`: of a single one that stands for a larger problem, what its parts
    stand for; empty where it is the whole."""

    programs: tuple[Program, ...]
    pieces: tuple[Piece, ...] = ()

    @property
    def calls(self) -> int:
        """Instructions, without the repetitions of a piece."""
        return first_copies(self.pieces) if self.pieces else sum(map(len, self.programs))

    @property
    def how(self) -> str:
        repeated = sum(piece.times for piece in self.pieces)
        if repeated > len(self.pieces):
            return f"recorded call by call in {len(self.pieces)} pieces that stand for {repeated}"
        return "recorded call by call"

    @cached_property
    def counts(self) -> tuple[dict[int, int], ...]:
        """Of each program how often each of its ops occurs in the whole problem."""
        return tuple(_counts(program, self.pieces) for program in self.programs)

    @cached_property
    def classes(self) -> tuple[bytes, ...]:
        """The work class of each program."""
        return tuple(map(work_class, self.programs))

    def tally(self) -> dict[Op, int]:
        """How often each op runs in all programs."""
        merged: dict[Any, Op] = {}
        total: dict[Op, int] = {}
        for program, counts in zip(self.programs, self.counts, strict=True):
            for number, count in counts.items():
                op = program.ops[number]
                op = merged.setdefault(op.key(), op)
                total[op] = total.get(op, 0) + count
        return total

    def traffic(self) -> dict[str, int]:
        """Bytes by memory and direction, of all programs."""
        moved: dict[str, int] = {}
        for program, counts in zip(self.programs, self.counts, strict=True):
            for number, count in counts.items():
                for name, amount in program.ops[number].traffic.items():
                    moved[name] = moved.get(name, 0) + amount * count
        return moved


def record_launch(
    kernel: Any,
    arguments: Arguments,
    machine: Machine,
    launch: Launch,
    *,
    named: Mapping[str, Any] | None = None,
    parts: Parts = (),
    lengths: dict[Any, int] | None = None,
) -> Recording:
    """Every program of `launch` executed with shapes only, as the compiler leaves it. `named`: further
    arguments by name. `parts`: what the problem of a single program consists of; `lengths` of first pieces
    that are known, as in `record_pieces`.

    Raises `KernelError` for what the kernel does wrong, among it rendezvous that are not the same for all.
    """
    programs: list[Program] = []
    pieces: tuple[Piece, ...] = ()
    with provide("trnbench"):  # a kernel may import while it runs
        for number in range(launch.programs):
            execution = _Execution(kernel, machine, launch, named, number)
            if len(parts) > 1 or any(times > 1 for _, times in parts):
                pieces = record_pieces(arguments, parts, execution, lengths)
            else:
                execution.carry_out(arguments)
            programs.append(execution.program)
    for number in range(1, launch.programs):
        check_same_rendezvous(programs[0], programs[number], number)
    return Recording(tuple(programs), pieces)


class _Execution:
    """One program of a launch, executed as often as it takes, each time behind what is recorded."""

    def __init__(
        self, kernel: Any, machine: Machine, launch: Launch, named: Mapping[str, Any] | None, number: int
    ) -> None:
        self.kernel, self.machine, self.launch = kernel, machine, launch
        self.named, self.number = named or {}, number
        self.restart()

    def restart(self) -> None:
        self.builder = Builder(self.machine)
        self.program = self.builder.program
        self.last: Arguments = ()
        self.copy: FirstCopy | None = None

    def carry_out(self, arguments: Arguments, *, repeated: bool = False) -> int:
        """Returns how many instructions were issued. `repeated`: it will be asked for `again`."""
        self.last = arguments
        if not repeated or not self.launch.fold:
            self.copy = None
            return self._executed(arguments)
        begin = Position.of(self.program)
        self.builder.births = Births(begin.instructions)
        count = self._executed(arguments)
        self.copy = first_copy(self.builder, begin, count)
        return count

    def again(self) -> int:
        """The same once more."""
        return self._executed(self.last) if self.copy is None else once_more(self.builder, self.copy)

    def _executed(self, arguments: Arguments) -> int:
        in_order: Sequence[Any] = () if isinstance(arguments, Mapping) else arguments
        by_name = arguments if isinstance(arguments, Mapping) else {}
        trace = record(
            self.kernel,
            in_order,
            {**by_name, **self.named},
            machine=self.machine,
            sink=self.builder,
            limit=self.launch.limit,
            fold=self.launch.fold,
            program=self.number,
            assumptions=self.launch.assumptions,
        )
        self.program.assumed = trace.assumed
        # Grids of Beta 1 deal their programs to cores.
        self.program.shares = trace.asked or not getattr(self.kernel, "grid", 0)
        return trace.count


class Recorder:
    """Records each launch once for a machine, and remembers what could not be recorded.

    Problems of the same pieces, each of which occurs more often than it is recorded, have one recording.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Recording | KernelError] = {}
        self._in_pieces: dict[Any, Recording] = {}
        self._lengths: dict[Any, dict[Any, int]] = {}

    def of(
        self, kernel: Any, arguments: Arguments, machine: Machine, launch: Launch, parts: Parts = ()
    ) -> Recording:
        """Raises `KernelError`, the same one for everybody who meets it."""
        given = tuple(arguments.items()) if isinstance(arguments, Mapping) else tuple(arguments)
        # What is asked of the launch beside these does not change its instructions.
        asked = (kernel, machine, launch.programs, launch.limit, launch.fold, launch.assumptions)
        key = (asked, given, parts)
        try:
            known = self._known.get(key)
        except TypeError:  # an argument that has no hash
            return record_launch(kernel, arguments, machine, launch, parts=parts)
        if known is None:
            copies = (asked, recorded_copies(parts))
            # Programs of one launch may differ in them.
            lengths = self._lengths.setdefault(asked, {}) if launch.programs == 1 else None
            try:
                known = self._again(copies, parts) or record_launch(
                    kernel, arguments, machine, launch, parts=parts, lengths=lengths
                )
            except KernelError as error:
                known = error
            else:
                if known.pieces and launch.programs == 1:
                    self._in_pieces.setdefault(copies, known)
            self._known[key] = known
        if isinstance(known, KernelError):
            raise known.with_traceback(None)
        return known

    def _again(self, copies: Any, parts: Parts) -> Recording | None:
        """What was recorded for another problem with these `copies`; None where nothing was that stands for
        `parts`."""
        known = self._in_pieces.get(copies)
        pieces = pieces_again(known.pieces, parts) if known is not None else ()
        return Recording(known.programs, pieces) if known is not None and pieces else None


def _counts(program: Program, pieces: Sequence[Piece]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for begin, end, weight in spans(pieces) if pieces else ((0, len(program), 1),):
        numbers = np.bincount(np.array(program.op[begin:end], np.int64))
        for op in np.flatnonzero(numbers).tolist():
            counts[op] = counts.get(op, 0) + weight * int(numbers[op])
    return counts
