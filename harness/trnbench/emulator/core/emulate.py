"""A kernel's time on one core, and where it goes: the API of the timed core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from trnbench.compiler import AS_SHIPPED, Assumptions
from trnbench.emulator.core.builder import Builder
from trnbench.emulator.core.costs import CostTable
from trnbench.emulator.core.pace import TICKS, Pace, Without, rivals
from trnbench.emulator.core.program import BUFFER, RINGS, Program
from trnbench.emulator.core.scheduler import NOTHING_REMOVED, Schedule, schedule
from trnbench.generation import System
from trnbench.nki import Machine, record
from trnbench.nki.recorder import DEFAULT_LIMIT
from trnbench.peaks.engine import engine_rate
from trnbench.results.waterfall import AT_PEAK

_ANCHORS = ("tensor", "hbm")
_ENGINES = ("gpsimd", "scalar", "vector", "tensor")


class Piece(msgspec.Struct, frozen=True):
    """A part of a problem: where each recorded copy of it ends, and how often it occurs in all."""

    ends: tuple[int, ...]
    times: int


class KernelResult(msgspec.Struct, kw_only=True):
    """Of one core, in seconds. `waterfall` begins with the time at the peak and adds up to
    `latency_s`, as does `path`, the critical path by cause. `schedule` is what was recorded: all of the
    kernel, or a few copies of each of its pieces.
    """

    latency_s: float
    bound: str
    busy_s: dict[str, float]
    bytes: dict[str, int]
    waterfall: tuple[tuple[str, float], ...]
    path: tuple[tuple[str, float], ...]
    lines: dict[tuple[str, int], float]
    schedule: Schedule
    launch_s: float
    notes: tuple[str, ...] = ()


def emulate_kernel(
    kernel: Any,
    args: Sequence[Any],
    system: System,
    *,
    kwargs: dict[str, Any] | None = None,
    cores: int = 1,
    limit: int = DEFAULT_LIMIT,
    fold: bool = True,
    assumptions: Assumptions = AS_SHIPPED,
) -> KernelResult:
    """Record `kernel` with shapes only and schedule it. `cores` of one device run it at once.

    `fold`: rounds of a loop that repeat the rounds before are neither executed nor scheduled one by one;
    the result is the same.

    Raises `KernelError` for what the kernel does wrong, `FactError` where a cost is missing.
    """
    machine = Machine.of(system)
    builder = Builder(machine)
    record(
        kernel, args, kwargs,
        machine=machine, sink=builder, limit=limit, fold=fold, assumptions=assumptions,
    )  # fmt: skip
    return time_program(builder.program, CostTable(system), sharing=cores, fold=fold)


def time_program(
    program: Program,
    table: CostTable,
    *,
    sharing: int = 1,
    pieces: tuple[Piece, ...] = (),
    fold: bool = True,
    held: str = "",
    explain: bool = True,
) -> KernelResult:
    """Schedule a program and explain its time. `sharing`: cores that use the device's memory at once.

    `held`: the engine, "dma" or "hbm" whose limit the waterfall starts at; "": the tensor engine's where
    it multiplies, else the memory's. `explain`: the waterfall is wanted, which takes an emulation a cause.
    """
    pace = Pace(table, sharing=sharing)
    pieces = pieces or (Piece((len(program),), 1),)
    marks = tuple(end for piece in pieces for end in piece.ends)
    assumed = pace.assumed
    launch = round(table.launch_s * TICKS)

    def run(without: Without) -> tuple[int, dict[str, int], Schedule]:
        made = schedule(program, pace, without=without, marks=marks, fold=fold)
        return (*_whole(made, pieces), made)

    total, busy, made = run(NOTHING_REMOVED)
    bound = max(busy, key=lambda name: (busy[name], name), default="launch")
    if launch > total:
        bound = "launch"
    waterfall = []
    if explain:
        absent = absent_from(program, pace)
        waterfall = waterfall_of(program, table, pieces, run, total, busy, launch, held, absent)
    path = made.path()
    if total > made.total:
        path["the same again for other pieces"] = total - made.total
    path["launch"] = launch
    return KernelResult(
        latency_s=(total + launch) / TICKS,
        bound=bound,
        busy_s={name: ticks / TICKS for name, ticks in busy.items()},
        bytes=bytes_moved(program, pieces),
        waterfall=tuple((name, ticks / TICKS) for name, ticks in waterfall),
        path=tuple((name, ticks / TICKS) for name, ticks in path.items() if ticks),
        lines={place: ticks / TICKS for place, ticks in made.by_place().items()},
        schedule=made,
        launch_s=launch / TICKS,
        notes=assumed.notes(),
    )


def _whole(made: Schedule, pieces: tuple[Piece, ...]) -> tuple[int, dict[str, int]]:
    """Pieces recorded fewer times than they occur go on at the pace of their last copy."""
    total, busy, at = made.total, dict(made.busy), 0
    for piece in pieces:
        more = piece.times - len(piece.ends)
        last = made.marks[at + len(piece.ends) - 1]
        before = made.marks[at + len(piece.ends) - 2] if at + len(piece.ends) > 1 else None
        at += len(piece.ends)
        if not more:
            continue
        past = before.busy if before else {}
        spent = {name: ticks - past.get(name, 0) for name, ticks in last.busy.items()}
        gained = last.total - (before.total if before else 0)
        total += more * max(gained, *spent.values(), 0)
        for name, ticks in spent.items():
            busy[name] += more * ticks
    return total, busy


def waterfall_of(
    program: Program,
    table: CostTable,
    pieces: tuple[Piece, ...],
    run: Any,
    total: int,
    busy: dict[str, int],
    launch: int,
    held: str,
    absent: frozenset[str],
) -> list[tuple[str, int]]:
    """From the peak up; each term is what one more cause adds, found by removing them one by one."""
    anchor = next((name for name in _ANCHORS if busy.get(name)), "")
    if anchor == "tensor" and not _flops(program):
        anchor = "hbm" if busy.get("hbm") else ""
    if busy.get(held):
        anchor = held
    anchor = anchor or max(busy, key=lambda name: (busy[name], name), default="launch")
    removed: dict[str, Any] = {}
    gone: set[str] = set()
    terms: list[tuple[str, int]] = [("launch", launch)]
    left = total
    causes: list[tuple[str, str, Any]] = [
        ("tensor engine warming up", "throttle", True),
        ("conflicts on a bank of PSUM", "banks", True),
        ("engines that exclude each other", "exclusions", True),
        ("waiting for buffers", "buffers", True),
        ("semaphores", "semaphores", True),
        ("start of transfers", "start", True),
        ("latency of instructions", "latency", True),
        ("waiting for operands", "order", True),
    ]
    causes += [(f"{name} engine", "queues", name) for name in _ENGINES if name != anchor and busy.get(name)]
    if anchor != "dma" and busy.get("dma"):
        causes.append(("DMA engines", "queues", "dma"))
    if anchor != "hbm" and busy.get("hbm"):
        causes.append(("device memory", "hbm", True))
    for label, key, value in causes:
        if key in absent:
            continue
        if key == "queues":
            gone |= set(RINGS) if value == "dma" else {value}
            value = frozenset(gone)
        removed[key] = value
        now = min(run(Without(**removed))[0], left)
        terms.append((label, left - now))
        left = now
    if anchor == "tensor":
        ideal = min(ideal_ticks(program, table, pieces), left)
        terms.append(("tensor engine not filled", left - ideal))
        left = ideal
    terms.append((f"{anchor}{AT_PEAK}", left))
    kept = [term for term in reversed(terms) if term[1]]
    return kept if kept and kept[0] == terms[-1] else [terms[-1], *kept]


def absent_from(program: Program, pace: Pace) -> frozenset[str]:
    """Causes that cannot delay any instruction of `program`: without them it takes as long."""
    steps = [pace.step(op, NOTHING_REMOVED) for op in program.ops]
    deps = np.frombuffer(program.deps, np.int64) if len(program.deps) else np.empty(0, np.int64)
    found = {
        "throttle": pace.throttle is None or not any(step.queue == 0 and step.issue for step in steps),
        "banks": not rivals(steps),
        "exclusions": not any(step.claims or step.banked for step in steps),
        "buffers": not (deps & 3 == BUFFER).any(),
        "semaphores": not pace.semaphore or not len(deps),
        "start": not any(step.engines for step in steps),
    }
    return frozenset(name for name, never in found.items() if never)


def counted(program: Program, pieces: tuple[Piece, ...]) -> dict[int, int]:
    """How often each op occurs in the whole problem."""
    found: dict[int, int] = {}
    begin = 0
    for piece in pieces:
        for copy, end in enumerate(piece.ends):
            weight = 1 + (piece.times - len(piece.ends) if copy == len(piece.ends) - 1 else 0)
            counts = np.bincount(np.array(program.op[begin:end], np.int64))
            for op in np.flatnonzero(counts).tolist():
                found[op] = found.get(op, 0) + weight * int(counts[op])
            begin = end
    return found


def _flops(program: Program) -> int:
    return sum(op.flops for op in program.ops)


def ideal_ticks(program: Program, table: CostTable, pieces: tuple[Piece, ...]) -> int:
    """Ticks of the tensor engine's operations at the rate its clock allows for their data types."""
    seconds = 0.0
    for index, count in counted(program, pieces).items():
        op = program.ops[index]
        if op.flops:
            rate = engine_rate(table.system, op.dtype)
            if rate is None:
                return 1 << 62
            seconds += op.flops * count / rate.value
    return round(seconds * TICKS)


def bytes_moved(program: Program, pieces: tuple[Piece, ...]) -> dict[str, int]:
    moved: dict[str, int] = {}
    for index, count in counted(program, pieces).items():
        for name, amount in program.ops[index].traffic.items():
            moved[name] = moved.get(name, 0) + amount * count
    return moved
