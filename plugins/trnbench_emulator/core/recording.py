"""A launch and its recording: instructions of each program, where programs meet, how often each op runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import PurePath
from typing import Any, TypeAlias

import numpy as np

from trnbench.errors import KernelError
from trnbench.record import Record
from trnbench_emulator.compiler import AS_SHIPPED, Assumptions
from trnbench_emulator.core.builder import Builder
from trnbench_emulator.core.liveness import Births
from trnbench_emulator.core.memo import Memo
from trnbench_emulator.core.pace import NOTHING_REMOVED, Without
from trnbench_emulator.core.pieces import (
    COPIED,
    COPIES,
    SETTLED,
    FirstCopy,
    Parts,
    Piece,
    Position,
    first_copies,
    first_copy,
    once_more,
    pieces_again,
    recorded_copies,
    spans,
    too_few,
    too_short,
)
from trnbench_emulator.core.program import QUEUES, Program, work_class
from trnbench_emulator.nki import Machine, record
from trnbench_emulator.nki.op import DMA, TENSOR, Op
from trnbench_emulator.nki.provide import provide
from trnbench_emulator.nki.recorder import DEFAULT_LIMIT, Placement

Arguments: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""Of a kernel, in order or by name: a `TensorSpec` for a tensor, other values as they are."""


class Launch(Record, kw_only=True):
    """`programs` of one kernel, each on a core; a single program is a launch of one.

    `cores` of the device are at work (0: as many as there are programs), the others with launches of their
    own that do the same. `limit`: instructions of a program after which it is taken to be endless.
    `assumptions`: what the compiler does. `without`: causes of lost time that the machine does not have.

    `held`: the engine, "dma" or "hbm" at whose limit the waterfall starts; "": the tensor engine's where it
    multiplies, else the memory's. `explain`: the waterfall is wanted, which takes an emulation a cause.
    """

    programs: int = 1
    cores: int = 0
    limit: int = DEFAULT_LIMIT
    assumptions: Assumptions = AS_SHIPPED
    without: Without = NOTHING_REMOVED
    held: str = ""
    explain: bool = True


ALONE = Launch()

BARRIER, EXCHANGE = "core_barrier", "sendrecv"
OPCODES = (BARRIER, EXCHANGE)


class Recording(Record, dict=True):
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

    @property
    def memory(self) -> int:
        """Bytes that it takes here."""
        return sum(program.memory for program in self.programs)

    @cached_property
    def counts(self) -> tuple[Counter[int], ...]:
        """Of each program how often each of its ops occurs in the whole problem."""
        return tuple(_counts(program, self.pieces) for program in self.programs)

    @cached_property
    def classes(self) -> tuple[bytes, ...]:
        """The work class of each program."""
        return tuple(map(work_class, self.programs))

    @cached_property
    def representatives(self) -> tuple[int, ...]:
        """For each program the first of the same work class whose instructions cost the same."""
        if len(self.programs) == 1:
            return (0,)
        seen: dict[Any, int] = {}
        return tuple(
            seen.setdefault((work, tuple(op.key() for op in program.ops)), number)
            for number, (program, work) in enumerate(zip(self.programs, self.classes, strict=True))
        )

    @cached_property
    def tally(self) -> Counter[Op]:
        """How often each op runs in all programs."""
        total = Counter[Op]()
        for program, counts in zip(self.programs, self.counts, strict=True):
            for number, count in counts.items():
                total[program.ops[number]] += count
        return total

    @property
    def open(self) -> bool:
        """Whether the kernel leaves an engine to the compiler."""
        return any(op.alternatives for program in self.programs for op in program.ops)

    def placement(self) -> Placement:
        """Engines of what the kernel leaves open, where it is not the first one: see `copy-balance`.

        Equal ops stay together. From the most columns to the fewest, each goes to the engine that has the
        fewest until then ("selects best engine based on engine workload": nisa.tensor_copy, 81ce03ae).
        """
        load, columns, engines = Counter[str](), Counter[Any](), dict[Any, tuple[str, ...]]()
        for op, count in self.tally.items() if self.open else ():
            amount = count * int(op.variables.get("N", 0))
            if op.alternatives:
                columns[op.work] += amount
                engines[op.work] = (op.engine, *op.alternatives)
            else:
                load[op.engine] += amount
        placement = dict[Any, str]()
        for work, amount in columns.most_common():
            engine = min(engines[work], key=load.__getitem__)
            load[engine] += amount
            if engine != engines[work][0]:
                placement[work] = engine
        return placement

    def work(self) -> Counter[tuple[str, str]]:
        """FLOP of the tensor engine by data type, and elements of each other engine ("": of any type)."""
        done = Counter[tuple[str, str]]()
        for op, count in self.tally.items():
            if op.engine == TENSOR:
                done[TENSOR, op.dtype] += op.flops * count
            elif op.engine != DMA:
                done[op.engine, ""] += op.elements * count
        return +done

    def traffic(self) -> Counter[str]:
        """Bytes by memory and direction, of all programs."""
        moved = Counter[str]()
        for op, count in self.tally.items():
            for name, amount in op.traffic.items():
                moved[name] += amount * count
        return moved

    def loads(self, cores: int) -> dict[str, float]:
        """What engines and memories have to do where launches of this kind fill `cores`: FLOP of "tensor
        bf16", elements of the other engines, bytes of "hbm" and "dma"."""
        times = cores / len(self.programs)
        work, moved = self.work(), self.traffic()
        ordered = sorted(work, key=lambda pair: (QUEUES.index(pair[0]), pair[1]))
        found = {f"{engine} {dtype}".strip(): work[engine, dtype] * times for engine, dtype in ordered}
        hbm = moved["hbm_read"] + moved["hbm_write"]
        transfers = ((op, count) for op, count in self.tally.items() if op.engine == DMA)
        dma = sum(op.variables.get("bytes", 0) * count for op, count in transfers)
        return found | {name: amount * times for name, amount in (("hbm", hbm), ("dma", dma)) if amount}


def record_launch(
    kernel: Any,
    arguments: Arguments,
    machine: Machine,
    launch: Launch,
    *,
    named: Mapping[str, Any] | None = None,
    parts: Parts = (),
) -> Recording:
    """Every program of `launch` executed with shapes only, as the compiler leaves it. `named`: further
    arguments by name. `parts`: what the problem of a single program consists of.

    What the kernel leaves open is placed by the load of the whole problem: the kernel is executed once more
    where a copy goes elsewhere.

    Raises `KernelError` for what the kernel does wrong, among it rendezvous that are not the same for all.
    """
    carry_out = partial(_recorded, kernel, arguments, machine, launch, named or {}, parts)
    recording = carry_out({})
    placement = recording.placement() if "copy-balance" in launch.assumptions else {}
    return carry_out(placement) if placement else recording


def _recorded(
    kernel: Any,
    arguments: Arguments,
    machine: Machine,
    launch: Launch,
    named: Mapping[str, Any],
    parts: Parts,
    placement: Placement,
) -> Recording:
    programs: list[Program] = []
    pieces: tuple[Piece, ...] = ()
    with provide("trnbench"):  # a kernel may import while it runs
        for number in range(launch.programs):
            execution = _Execution(kernel, machine, launch, named, placement, number)
            if len(parts) > 1 or any(times > 1 for _, times in parts):
                pieces = execution.in_pieces(arguments, parts)
            else:
                execution.carry_out(arguments)
            programs.append(execution.program)
    for number in range(1, launch.programs):
        check_same_rendezvous(programs[0], programs[number], number)
    return Recording(tuple(programs), pieces)


class _Execution:
    """One program of a launch, executed as often as it takes, each time behind what is recorded."""

    def __init__(
        self,
        kernel: Any,
        machine: Machine,
        launch: Launch,
        named: Mapping[str, Any],
        placement: Placement,
        number: int,
    ) -> None:
        self.kernel, self.machine, self.launch = kernel, machine, launch
        self.named, self.placement, self.number = named, placement, number
        self.restart()

    def restart(self) -> None:
        """Drops what is recorded."""
        self.builder = Builder(self.machine)
        self.program = self.builder.program
        self.last: Arguments = ()
        self.copy: FirstCopy | None = None

    def carry_out(self, arguments: Arguments, *, repeated: bool = False) -> int:
        """Returns how many instructions were issued. `repeated`: it will be asked for `again`."""
        self.last = arguments
        if not repeated:
            self.copy = None
            return self._executed(arguments)
        begin = Position.of(self.program)
        self.builder.births = Births()
        count = self._executed(arguments)
        self.copy = first_copy(self.builder, begin, count)
        return count

    def again(self) -> int:
        """The same once more."""
        return self._executed(self.last) if self.copy is None else once_more(self.builder, self.copy)

    def in_pieces(self, arguments: Arguments, parts: Parts) -> tuple[Piece, ...]:
        """What stands for the problem with `arguments`, of these `parts`; empty where recorded whole."""
        if too_few(parts):
            self.carry_out(arguments)
            return ()
        first, times = parts[0]
        length = self.carry_out(first, repeated=times > 1)
        if too_short(parts, length):
            self.restart()
            self.carry_out(arguments)
            return ()
        pieces: list[Piece] = []
        for number, (part, times) in enumerate(parts):
            begin = pieces[-1].ends[-1] if pieces else 0
            length = self.carry_out(part, repeated=times > 1) if number else length
            ends = [begin + length]
            while len(ends) < min(times, COPIES):
                settled = len(ends) > 1 and ends[-1] - begin >= SETTLED
                if settled or ends[-1] + length > COPIED:
                    break
                ends.append(ends[-1] + self.again())
            pieces.append(Piece(tuple(ends), times))
        return tuple(pieces)

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
            program=self.number,
            assumptions=self.launch.assumptions,
            placement=self.placement,
        )
        self.program.assumed = trace.assumed
        # Grids of Beta 1 deal their programs to cores.
        self.program.shares = trace.asked or not getattr(self.kernel, "grid", 0)
        return trace.count


class Recorder:
    """Records a launch once for a machine, and remembers what could not be recorded.

    Problems of the same pieces, each of which occurs more often than it is recorded, have one recording.
    """

    def __init__(self) -> None:
        self._known: Memo[Recording | KernelError] = Memo(_memory)
        self._in_pieces: Memo[Recording] = Memo(_memory)

    def of(
        self, kernel: Any, arguments: Arguments, machine: Machine, launch: Launch, parts: Parts = ()
    ) -> Recording:
        """Raises `KernelError`, the same one for everybody who meets it."""
        arguments_key = tuple(arguments.items()) if isinstance(arguments, Mapping) else tuple(arguments)
        # What is asked of the launch beside these does not change its instructions.
        asked = (kernel, machine, launch.programs, launch.limit, launch.assumptions)
        key = (asked, arguments_key, parts)
        try:
            recording = self._known.get(key)
        except TypeError:  # an argument that has no hash
            return record_launch(kernel, arguments, machine, launch, parts=parts)
        if recording is None:
            copies = (asked, recorded_copies(parts))
            try:
                recording = self._again(copies, parts) or record_launch(
                    kernel, arguments, machine, launch, parts=parts
                )
            except KernelError as error:
                recording = error
            else:
                if recording.pieces and launch.programs == 1 and not recording.open:
                    self._in_pieces.keep(copies, recording)
            self._known.keep(key, recording)
        if isinstance(recording, KernelError):
            raise recording.with_traceback(None)
        return recording

    def _again(self, copies: Any, parts: Parts) -> Recording | None:
        """What was recorded for another problem with these `copies`; None where nothing was that stands for
        `parts`."""
        recording = self._in_pieces.get(copies)
        pieces = pieces_again(recording.pieces, parts) if recording is not None else ()
        return Recording(recording.programs, pieces) if recording is not None and pieces else None


def _memory(recording: Recording | KernelError) -> int:
    return recording.memory if isinstance(recording, Recording) else 0


def _counts(program: Program, pieces: Sequence[Piece]) -> Counter[int]:
    counts = Counter[int]()
    for begin, end, weight in spans(pieces) if pieces else ((0, len(program), 1),):
        numbers = np.bincount(np.array(program.op[begin:end], np.int64))
        for op in np.flatnonzero(numbers).tolist():
            counts[op] += weight * int(numbers[op])
    return counts


def rendezvous_of(program: Program) -> list[int]:
    """Instructions at which a program meets the others."""
    ops = [number for number, op in enumerate(program.ops) if op.opcode in OPCODES]
    if not ops:
        return []
    numbers: list[int] = np.flatnonzero(np.isin(np.frombuffer(program.op, np.uint32), ops)).tolist()
    return numbers


def check_same_rendezvous(one: Program, other: Program, number: int) -> None:
    """Raises `KernelError` unless programs 0 and `number` meet in one order."""
    ours, theirs = rendezvous_of(one), rendezvous_of(other)
    for turn, (here, there) in enumerate(zip(ours, theirs, strict=False), start=1):
        if _call(one, here) != _call(other, there):
            raise KernelError(
                f"meeting {turn} of the launch is {_shown(one, here)} in program 0 and "
                f"{_shown(other, there)} in program {number}",
                cause="programs that meet in different orders wait for each other without end",
                try_="make the same calls of core_barrier and sendrecv in the same order in every program",
            )
    if len(ours) != len(theirs):
        waits, program, missing = (0, one, number) if len(ours) > len(theirs) else (number, other, 0)
        call = _shown(program, max(ours, theirs, key=len)[min(len(ours), len(theirs))])
        raise KernelError(
            f"program {waits} waits at {call} for program {missing}, which has ended",
            cause="nisa.core_barrier and nisa.sendrecv are calls that all programs have to make",
        )


def _call(program: Program, number: int) -> tuple[str, Any]:
    op = program.ops[program.op[number]]
    return op.opcode, op.variables.get("pipe")


def _shown(program: Program, number: int) -> str:
    opcode, pipe = _call(program, number)
    file, line = program.places[program.place[number]]
    pipe_text = "" if pipe is None else f", pipe {pipe}"
    return f"nisa.{opcode}{pipe_text} ({PurePath(file).name}:{line})"
