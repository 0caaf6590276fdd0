"""What a launch of several programs takes, and where its time goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from trnbench.emulator.core.costs import CostTable
from trnbench.emulator.core.emulate import (
    KernelResult,
    Piece,
    absent_from,
    bytes_moved,
    ideal_ticks,
    waterfall_of,
)  # fmt: skip
from trnbench.emulator.core.grid import WAITING, Together, meetings, record_programs, schedule_together
from trnbench.emulator.core.pace import NOTHING_REMOVED, TICKS, Pace, Without
from trnbench.emulator.core.program import Program
from trnbench.emulator.core.scheduler import Schedule
from trnbench.generation import System
from trnbench.nki import Machine
from trnbench.nki.recorder import DEFAULT_LIMIT
from trnbench.results.waterfall import AT_PEAK

SAME = "the kernel never asks for nl.program_id: each program does the whole problem"

SIGNAL = "core-signal-latency"
"""The assumption that gives the time until a core sees a semaphore that another core has written."""

UNEVEN = "programs of unequal length"


class ProgramTime(msgspec.Struct, frozen=True, kw_only=True):
    """Of one program. `latency_s`: from the launch of all to its own end; `waited_s`: for other programs."""

    program: int
    latency_s: float
    waited_s: float
    bound: str
    instructions: int
    busy_s: dict[str, float]


class LaunchResult(KernelResult, kw_only=True):
    """`latency_s` ends with the last program; `bytes` are those of all of them, `path` goes from program to
    program. `busy_s`, `lines` and `schedule` are about the program that ends last, `last`, and its core.
    """

    last: int
    programs: tuple[ProgramTime, ...]
    together: Together

    @property
    def imbalance(self) -> float:
        """How much longer the last program takes than all do on average, as a share of that; 0 is even."""
        ends = [each.latency_s - self.launch_s for each in self.programs]
        mean = sum(ends) / len(ends)
        return max(ends) / mean - 1 if mean else 0.0


def emulate_programs(
    kernel: Any,
    args: Sequence[Any],
    system: System,
    *,
    programs: int,
    kwargs: dict[str, Any] | None = None,
    cores: int = 0,
    limit: int = DEFAULT_LIMIT,
    fold: bool = True,
) -> LaunchResult:
    """`kernel` as a launch of `programs`, each on a core of its own. `cores` of the device are at work (0: as
    many as there are programs), others with launches of their own.

    Raises `KernelError` for what the kernel does wrong, `FactError` where a cost is missing.
    """
    found = record_programs(
        kernel, args, Machine.of(system), count=programs, kwargs=kwargs, limit=limit, fold=fold
    )
    return time_programs(found, CostTable(system), cores=cores or programs, fold=fold)


def time_programs(
    programs: Sequence[Program],
    table: CostTable,
    *,
    cores: int,
    fold: bool = True,
    held: str = "",
    explain: bool = True,
) -> LaunchResult:
    """Schedule the programs of a launch and explain the time of the last. `cores` of the device share its
    memory evenly, but for those whose program moves nothing. `held`, `explain`: as of `time_program`.
    """
    pace = Pace(table, sharing=max(_sharing(programs, cores), 1))
    assumed = pace.assumed
    launch = round(table.launch_s * TICKS)
    meet = any(map(meetings, programs)) and len(programs) > 1
    signal = round(assumed.value(SIGNAL) * TICKS) if meet else 0

    def together(without: Without = NOTHING_REMOVED, *, waiting: bool = True) -> Together:
        return schedule_together(
            programs, pace, signal=signal, without=without, fold=fold, waiting=waiting and meet
        )

    made = together()
    last, total = made.last, made.total
    slowest = made.schedules[last]
    terms = _terms(programs, table, made, together, launch, held, pace, meet=meet) if explain else []
    path = made.path()
    path["launch"] = launch
    times = tuple(
        ProgramTime(
            program=number,
            latency_s=(each.total + launch) / TICKS,
            waited_s=made.waited(number) / TICKS,
            bound=_bound(each, launch),
            instructions=len(each.program),
            busy_s=_seconds(each.busy),
        )
        for number, each in enumerate(made.schedules)
    )
    return LaunchResult(
        latency_s=(total + launch) / TICKS,
        bound=times[last].bound,
        busy_s=times[last].busy_s,
        bytes=_sum([bytes_moved(each, _once(each)) for each in programs]),
        waterfall=tuple((name, ticks / TICKS) for name, ticks in terms),
        path=tuple((name, ticks / TICKS) for name, ticks in path.items() if ticks),
        lines={place: ticks / TICKS for place, ticks in slowest.by_place().items()},
        schedule=slowest,
        launch_s=launch / TICKS,
        notes=(*(() if any(each.shares for each in programs) else (SAME,)), *assumed.notes()),
        last=last,
        programs=times,
        together=made,
    )


def _sharing(programs: Sequence[Program], cores: int) -> int:
    """Cores that use the memory: of each launch those whose program does."""
    using = sum(
        any(name.startswith("hbm") for op in program.ops for name in op.traffic) for program in programs
    )
    return cores // len(programs) * using


def _terms(
    programs: Sequence[Program],
    table: CostTable,
    made: Together,
    together: Any,
    launch: int,
    held: str,
    pace: Pace,
    *,
    meet: bool,
) -> list[tuple[str, int]]:
    """From the peak of all cores up to the end of the last program: what any of them can be held up by."""
    total = made.total
    program = max(programs, key=lambda each: ideal_ticks(each, table, _once(each)))
    busy = {
        name: max(each.busy.get(name, 0) for each in made.schedules)
        for name in dict.fromkeys(name for each in made.schedules for name in each.busy)
    }
    alone = min(together(waiting=False).total, total) if meet else total

    def run(without: Without) -> tuple[int, dict[str, int], Schedule]:
        found = together(without, waiting=False)
        return found.total, busy, found.schedules[0]

    found = waterfall_of(
        program,
        table,
        _once(program),
        run,
        alone,
        busy,
        launch,
        held,
        frozenset.intersection(*(absent_from(each, pace) for each in programs)),
    )
    (peak, ticks), *rest = found
    anchor = peak.removesuffix(AT_PEAK)

    def work(number: int) -> int:
        if anchor == "tensor":
            return ideal_ticks(programs[number], table, _once(programs[number]))
        return made.schedules[number].busy.get(anchor, 0)

    # All the work, spread evenly over the cores, takes the mean of what it takes each of them.
    mean = min(sum(work(number) for number in range(len(programs))) // len(programs), ticks)
    terms = [(peak, mean), (UNEVEN, ticks - mean), *rest]
    at = next((at for at, (name, _) in enumerate(terms) if name == "launch"), len(terms))
    terms.insert(at, (WAITING, total - alone))
    return [terms[0], *(term for term in terms[1:] if term[1])]


def _bound(each: Schedule, launch: int) -> str:
    bound = max(each.busy, key=lambda name: (each.busy[name], name), default="launch")
    return "launch" if launch > each.total else bound


def _once(program: Program) -> tuple[Piece, ...]:
    return (Piece((len(program),), 1),)


def _seconds(busy: dict[str, int]) -> dict[str, float]:
    return {name: ticks / TICKS for name, ticks in busy.items()}


def _sum(parts: Sequence[dict[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            found[name] = found.get(name, 0) + amount
    return found
