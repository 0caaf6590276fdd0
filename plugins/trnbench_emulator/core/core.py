"""The state of one core while a program runs on it, and what an instruction does to it."""

from __future__ import annotations

from array import array
from typing import Final

from trnbench_emulator.core.pace import Claim, Pace, Throttle, Without, of_banks, rivals
from trnbench_emulator.core.program import (
    BUFFER,
    GPSIMD,
    GPSIMD_RING,
    KIND_BITS,
    KIND_MASK,
    LOAD,
    QUEUES,
    RINGS,
    SCALAR,
    SCALAR_RING,
    STORE,
    Kinds,
    Program,
    issued_before,
)
from trnbench_emulator.core.transfers import SYNC

Plain = tuple[int, int, int, int, int, int, int, tuple[tuple[Claim, Claim], ...], int]
"""Of a `Step`: queue, issue, latency, engines, hbm, path, floor, its claims of banks, and hold."""

LAUNCHED: Final = -1
TURN: Final = -2
EXCLUDED: Final = -3
MET: Final = -4
"""Causes of a start that are no dependency; the last: another program of the launch had to come first."""

_SYNC = LOAD + STORE
"""Less one of the Sync engine's two queues: the other."""


class Core:
    """Queues issue and complete in order; start = max(queue free, operands ready, memory not excluded).

    What another queue waits for, it sees a semaphore later; an engine sees its own results at once.
    A transfer begins with a trigger. The Sync engine has a queue of triggers for loads and one for stores,
    which share its time; a trigger of the scalar engine waits until the instruction before it has started,
    and one of GpSimd until it is done. Then the transfer is spread over the DMA engines that are free first;
    its start is hidden behind the transfers before it, and its bytes pass the way that the engines share and
    the core's share of HBM.
    Rings share all three: what one moves takes their time from the others too, but a transfer that still
    waits for its operands holds up its own ring alone. Hence a clock for each ring.
    `op`: the kind of every instruction, `plain` what a kind takes.
    `start`, `issued`, `end`: ticks of every instruction; `cause`: what it waited for longest.
    """

    def __init__(self, program: Program, pace: Pace, without: Without) -> None:
        steps = [pace.step(op, without) for op in program.ops]
        self.program = program
        kinds = Kinds.told(program, rivals(steps))
        self.op = kinds.op
        self.plain: list[Plain] = [
            (s.queue, s.issue, s.latency, s.engines, s.hbm, s.path, s.floor, of_banks(s, banks), s.hold)
            for s, banks in zip((steps[op] for op in kinds.of), kinds.banks, strict=True)
        ]
        self.throttle = None if without.throttle else pace.throttle
        self.ordered, self.buffers = not without.order, not without.buffers
        self.semaphore = 0 if without.semaphores else pace.semaphore
        none, count = array("q", [0]), len(program)
        self.start, self.issued, self.end, self.cause = (none * count for _ in range(4))
        self.free, self.last = [0] * len(QUEUES), [0] * len(QUEUES)
        self.rings = tuple(sorted({s.queue - LOAD for s in steps if s.queue >= LOAD}))
        self.others = [[ring for ring in self.rings if ring != own] for own in range(len(RINGS))]
        self.before = issued_before(program) if SCALAR_RING - LOAD in self.rings else {}
        # Of each ring the DMA engines, the first to be free first, counted from `since`.
        self.engines = [[0] * pace.engines for _ in RINGS]
        self.since = [0] * len(RINGS)
        self.path, self.hbm = [0] * len(RINGS), [0] * len(RINGS)
        self.used: dict[Claim, int] = {}
        self.cold = self.throttle.ramp if self.throttle else 0
        self.window = self.window_busy = 0
        # Why each queue's next instruction waits if for no operand: the first of a queue is launched.
        self.turns = [LAUNCHED] * len(QUEUES)
        # What was busy how long so far; a ring: the triggers of its transfers.
        self.queue_busy = [0] * len(QUEUES)
        self.dma_busy = self.path_busy = self.hbm_busy = 0

    @property
    def total(self) -> int:
        return max(self.last)

    def busy(self) -> dict[str, int]:
        """DMA: what each engine would be busy if all shared the work evenly, or their common way.

        Making descriptors is GpSimd's own work; triggers of the scalar engine keep its queue, not itself.
        """
        took = list(self.queue_busy)
        took[GPSIMD] += took[GPSIMD_RING]
        spent = {name: took[at] for at, name in enumerate(QUEUES[:LOAD]) if took[at]}
        triggers = {SYNC: took[LOAD] + took[STORE], "scalar triggers": took[SCALAR_RING]}
        spent.update({name: ticks for name, ticks in triggers.items() if ticks})
        dma = max(-(-self.dma_busy // len(self.engines[0])), self.path_busy)
        if dma:
            spent["dma"] = dma
        if self.hbm_busy:
            spent["hbm"] = self.hbm_busy
        return spent

    def advance(self, begin: int, stop: int) -> None:
        """Carry out instructions `begin` to `stop`, one after the other."""
        program, plain, throttle = self.program, self.plain, self.throttle
        op_of, first, deps = self.op, program.first, program.deps
        starts, issues, ends, causes = self.start, self.issued, self.end, self.cause
        free, last, busy, used, turns = self.free, self.last, self.queue_busy, self.used, self.turns
        ordered, buffers, semaphore = self.ordered, self.buffers, self.semaphore
        low = first[begin]
        for number in range(begin, stop):
            step = plain[op_of[number]]
            queue, issue, latency, _, _, _, _, claims, hold = step
            start, cause = free[queue], turns[queue]
            high = first[number + 1]
            if low != high:
                if ordered:
                    seen_at = start - semaphore
                    for at in range(low, high):
                        dep = deps[at]
                        ready = ends[dep >> KIND_BITS]
                        if ready > seen_at and (buffers or dep & KIND_MASK != BUFFER):
                            if plain[op_of[dep >> KIND_BITS]][0] != queue or queue >= LOAD:
                                start, cause, seen_at = ready + semaphore, dep, ready
                            elif ready > start:
                                start, cause, seen_at = ready, dep, ready - semaphore
                low = high
            turns[queue] = TURN
            if queue >= LOAD:
                start, cause, issued = self._trigger(number, queue, hold, start, cause)
                end = self._transfer(queue - LOAD, step, start + latency)
                busy[queue] += hold
            else:
                if throttle is not None and queue == 0 and issue:
                    issue = self._throttled(throttle, start, issue)
                if claims:
                    for _, rival in claims:
                        if used.get(rival, 0) > start:
                            start, cause = used[rival], EXCLUDED
                    for claim, _ in claims:
                        used[claim] = start + issue
                issued = free[queue] = start + issue
                busy[queue] += issue
                end = issued + latency
            if end < last[queue]:
                end = last[queue]
            last[queue] = end
            starts[number], issues[number], ends[number], causes[number] = start, issued, end, cause

    def _throttled(self, throttle: Throttle, start: int, issue: int) -> int:
        """How long the tensor engine takes for an instruction, by how busy it was of late."""
        if start - self.window >= throttle.window:
            if self.window_busy < throttle.rearm * (start - self.window) // throttle.window:
                self.cold = start + throttle.ramp
            self.window, self.window_busy = start, 0
        if start < self.cold:
            issue = issue * throttle.slow // 1000
        self.window_busy += issue
        return issue

    def _trigger(self, number: int, queue: int, hold: int, start: int, cause: int) -> tuple[int, int, int]:
        """Of a transfer's trigger, which takes its queue for `hold`: its start, cause and end."""
        free = self.free
        if queue <= STORE:
            issued = free[queue] = start + hold
            free[_SYNC - queue] += hold
            return start, cause, issued
        if queue == SCALAR_RING:
            engine, before = SCALAR, self.before[number]
            turn = self.start[before] if before >= 0 else 0
        else:
            engine, turn = GPSIMD, free[GPSIMD]
        if turn > start:
            start, cause = turn, TURN
        issued = free[queue] = start + hold
        free[engine] = max(free[engine], issued)
        self.turns[engine] = TURN
        return start, cause, issued

    def _transfer(self, ring: int, step: Plain, arrived: int) -> int:
        """The end of a transfer whose first byte comes at `arrived`, after the trigger and not before."""
        _, issue, _, spread, hbm, path, floor, _, _ = step
        rings, since, others = self.engines, self.since, self.others[ring]
        engines = rings[ring]
        if spread == len(engines):
            if engines[0] == engines[-1]:
                engine_free = since[ring] + engines[0]
                done = (arrived if arrived > engine_free else engine_free) + issue
                since[ring] += done - engine_free
            else:
                arrival = arrived - since[ring]
                engines[:] = [(engine if engine > arrival else arrival) + issue for engine in engines]
                done = since[ring] + engines[-1]
        else:
            arrival = arrived - since[ring]
            for at in range(spread):
                engines[at] = (engines[at] if engines[at] > arrival else arrival) + issue
            done = since[ring] + engines[spread - 1]
            engines.sort()
        for other in others:  # which see the engines busy for as long
            if spread == len(engines):
                since[other] += issue
                continue
            for at in range(spread):
                rings[other][at] += issue
            rings[other].sort()
        self.dma_busy += issue * spread
        if done < arrived + floor:
            done = arrived + floor
        if path:
            self.path_busy += path
            passed = _pass(self.path, ring, others, arrived, path)
            if done < passed:
                done = passed
        if hbm:
            self.hbm_busy += hbm
            passed = _pass(self.hbm, ring, others, arrived, hbm)
            if done < passed:
                done = passed
        return done


def _pass(clocks: list[int], ring: int, others: list[int], arrived: int, ticks: int) -> int:
    """When bytes that take a shared way for `ticks` have passed it; the `others` wait as long."""
    way_free = clocks[ring]
    passed = clocks[ring] = (arrived if arrived > way_free else way_free) + ticks
    for other in others:
        clocks[other] += ticks
    return passed
