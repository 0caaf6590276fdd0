"""What an operation takes on one core, in whole picoseconds, with causes that can be taken away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trnbench.peaks import engine_rate
from trnbench.record import Record
from trnbench_emulator import TICKS_PER_US, ticks, ticks_up
from trnbench_emulator.compiler import AssumptionUse
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.program import QUEUES, Program, queue_of
from trnbench_emulator.nki.op import DMA, Op


class Without(Record, kw_only=True):
    """Causes of lost time that an emulation leaves out. `queues`: whose instructions take no time."""

    throttle: bool = False
    exclusions: bool = False
    banks: bool = False  # exclusions of single banks only
    buffers: bool = False
    semaphores: bool = False  # over which one queue waits for another
    start: bool = False  # of a DMA transfer, its trigger included
    latency: bool = False  # of an instruction, beyond its turn
    order: bool = False  # operands: everything may overlap
    queues: frozenset[str] = frozenset()
    hbm: bool = False


NOTHING_REMOVED = Without()

Claim = tuple[int, int, int]
"""A rule of exclusion by its number, a queue, and a bank or WHOLE: who holds what the rule is about."""

WHOLE = -1


class Step(Record):
    """Of one op, in ticks. `issue`: until its queue takes the next. `latency`: from then to its end.

    A transfer instead keeps `engines` DMA engines busy for `issue` each, the way that all engines of the
    core share for `path`, and the memory for `hbm`; it takes at least `floor` from its first byte on.
    `latency`: from its trigger to the first byte; `hold`: how long the trigger keeps its queue.
    `claims`: of each exclusion the op comes under, its own claim and that of its rival. `banked`: the same of
    each exclusion that is about single banks; which these are depends on where its operands lie.
    """

    queue: int
    issue: int
    latency: int
    engines: int = 0
    hbm: int = 0
    path: int = 0
    floor: int = 0
    hold: int = 0
    claims: tuple[tuple[Claim, Claim], ...] = ()
    banked: tuple[tuple[Claim, Claim], ...] = ()


class Throttle(Record):
    slow: int  # an instruction takes this many times as long, in 1/1000, while the engine warms up
    ramp: int
    window: int
    rearm: int  # busy ticks of a window below which it cools down


class Exclusion(Record):
    """Two queues that never use `memory` together; with a `mode`, only while `engine` works in it.

    `per` bank: they may use different banks of it together.
    """

    memory: str
    queues: tuple[int, int]
    engine: str
    mode: str = ""
    per: str = ""


SEMAPHORE = "semaphore-latency"
"""The assumption that gives the time from the end of an instruction to the start of one of another queue."""

TRIGGER = "dma-trigger"
"""The assumption that gives the time for which a trigger with prepared descriptors keeps its queue."""


class Pace:
    """Ticks of each op on the core of `table`'s system, of `sharing` cores that use one memory.

    `semaphore`: from the end of an instruction until another queue sees it. The documented start of a
    transfer counts from the semaphore of another engine: what is left of it is `dma_start`. `assumed`
    remembers what was assumed.
    """

    def __init__(self, table: CostTable, *, sharing: int = 1) -> None:
        self.table = table
        self.sharing = sharing
        self.engines = table.transfers.engines
        self.assumed = AssumptionUse(table.system)
        self.semaphore = ticks(self.assumed.value(SEMAPHORE))
        self.trigger = ticks(self.assumed.value(TRIGGER))
        self.dma_start = max(ticks(table.transfers.start_s) - self.semaphore, 0)
        self.throttle = _throttle(table.system.costs.get("throttle"))
        self.exclusions = _exclusions(table.system.costs.get("exclusions", ()))

    def key(self, program: Program) -> tuple[Any, ...]:
        """Equal for machines on which `program` takes the same time for the same reasons."""
        book = self.table.system.book
        rates = [engine_rate(self.table.system, op.dtype) for op in program.ops if op.flops]
        return (
            tuple(map(self._whole, program.ops)),
            tuple(rate.value if rate else 0.0 for rate in rates),
            tuple(
                (name, assumption.value, assumption.printed)
                for name, assumption in sorted(book.assumptions.items())
            ),
            (self.engines, self.throttle, self.exclusions, self.semaphore, self.table.launch_s),
        )

    def step(self, op: Op, without: Without) -> Step:
        step = self._whole(op)
        if without == NOTHING_REMOVED:
            return step
        free = QUEUES[step.queue] in without.queues
        early = free or (without.start if op.engine == DMA else without.latency)
        return Step(
            step.queue,
            0 if free else step.issue,
            0 if early else step.latency,
            engines=step.engines,
            hbm=0 if without.hbm else step.hbm,
            path=0 if free else step.path,
            floor=0 if early else step.floor,
            hold=0 if early else step.hold,
            claims=() if without.exclusions else step.claims,
            banked=() if without.exclusions or without.banks else step.banked,
        )

    def _whole(self, op: Op) -> Step:
        """With all its causes; found once for a table and as many cores."""
        step = self.table.steps.get((op, self.sharing))
        if step is None:
            step = self.table.steps[op, self.sharing] = self._found(op)
        return step

    def _found(self, op: Op) -> Step:
        table, queue = self.table, queue_of(op)
        if op.engine != DMA:
            issue = ticks_up(table.seconds(op))
            latency = max(ticks_up(table.duration(op)) - issue, 0)
            claims, banked = (self._claims(op, queue, per) for per in ("", "bank"))
            return Step(queue, issue, latency, claims=claims, banked=banked)
        costs = table.transfers
        generated = ticks_up(costs.generation_s(op.variables))
        engines = costs.spread(op.variables)
        return Step(
            queue,
            ticks_up(costs.engine_s(op.variables, engines)),
            self.dma_start + generated,
            engines=engines,
            hbm=ticks_up(op.hbm_bytes * self.sharing / table.hbm_rate),
            path=ticks_up(costs.path_s(op.variables)),
            floor=ticks_up(costs.floor_s(op.variables)),
            hold=generated or self.trigger,
        )

    def _claims(self, op: Op, queue: int, per: str) -> tuple[tuple[Claim, Claim], ...]:
        claims = []
        for number, rule in enumerate(self.exclusions):
            if rule.per != per or queue not in rule.queues:
                continue
            if not any(name.startswith(rule.memory) for name in op.traffic):
                continue
            # The other engine comes under such a rule however it works.
            if rule.mode and op.engine == rule.engine and self.table.mode(op) != rule.mode:
                continue
            first, second = rule.queues
            claims.append(((number, queue, WHOLE), (number, second if queue == first else first, WHOLE)))
        return tuple(claims)


def rivals(steps: Sequence[Step]) -> tuple[int, ...]:
    """Ops under an exclusion about banks that another op, of the other queue, is under, too."""
    present = {own for step in steps if step.banked for own, _ in step.banked}
    if not present:
        return ()
    return tuple(op for op, step in enumerate(steps) if any(rival in present for _, rival in step.banked))


def of_banks(step: Step, banks: int) -> tuple[tuple[Claim, Claim], ...]:
    """The claims of a step whose operands lie in `banks`, a bit each."""
    if not step.banked:
        return step.claims
    touched = [bank for bank in range(banks.bit_length()) if banks >> bank & 1]
    single = [
        ((number, own, bank), (number, rival, bank))
        for (number, own, _), (_, rival, _) in step.banked
        for bank in touched
    ]
    return (*step.claims, *single)


def _throttle(found: Mapping[str, Any] | None) -> Throttle | None:
    if not found:
        return None
    window = round(float(found["window_us"]) * TICKS_PER_US)
    return Throttle(
        slow=round(1000 / float(found["start_utilisation"])),
        ramp=round(float(found["ramp_us"]) * TICKS_PER_US),
        window=window,
        rearm=round(window * float(found["rearm_below"])),
    )


def _exclusions(rows: Any) -> tuple[Exclusion, ...]:
    """Those with a condition that is no mode of an engine and not about banks are not modelled."""
    exclusions = []
    for row in rows:
        mode, per = str(row.get("mode", "")), str(row.get("per", ""))
        if mode or per or not row.get("condition"):
            first, second = (QUEUES.index(name) for name in row["engines"])
            exclusions.append(
                Exclusion(str(row["memory"]), (first, second), str(row["engines"][0]), mode, per)
            )
    return tuple(exclusions)
