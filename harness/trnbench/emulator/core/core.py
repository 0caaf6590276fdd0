"""The state of one core while a program runs on it, and what an instruction does to it."""

from __future__ import annotations

from array import array
from typing import NamedTuple

from trnbench.emulator.core.pace import Claim, Pace, Without, of_banks, rivals
from trnbench.emulator.core.program import BUFFER, LOAD, QUEUES, Kinds, Program

LAUNCHED, TURN, EXCLUDED = -1, -2, -3


class Snapshot(NamedTuple):
    """All that decides how a core goes on, in ticks since the start."""

    free: tuple[int, ...]
    last: tuple[int, ...]
    engines: tuple[tuple[int, ...], ...]
    path: tuple[int, ...]
    hbm: tuple[int, ...]
    used: dict[Claim, int]
    cold: int
    window: int
    window_busy: int
    seen: int

    def engines_apart(self) -> tuple[int, ...]:
        """How far behind the first DMA engine the others are, as each ring sees them."""
        return tuple(each - ring[0] for ring in self.engines for each in ring)


class Core:
    """Queues issue and complete in order; start = max(queue free, operands ready, memory not excluded).

    A transfer is spread over the DMA engines that are free first; its start is hidden behind the
    transfers before it, once its descriptors are made, and its bytes pass the way that the engines share
    and the core's share of HBM.
    Loads and stores share all three: what one ring moves takes their time from the other too, but a
    transfer that still waits for its operands holds up its own ring alone. Hence a clock for each ring.
    `op`: the kind of every instruction, `plain` what a kind takes.
    `start`, `issued`, `end`: ticks of every instruction; `cause`: what it waited for longest.
    """

    def __init__(self, program: Program, pace: Pace, without: Without) -> None:
        steps = [pace.step(op, without) for op in program.ops]
        self.program = program
        self.kinds = kinds = Kinds.told(program, rivals(steps))
        self.op = kinds.op
        self.plain = [
            (s.queue, s.issue, s.latency, s.engines, s.hbm, s.path, s.floor, of_banks(s, banks), s.hold)
            for s, banks in zip((steps[op] for op in kinds.of), kinds.banks, strict=True)
        ]
        self.throttle = None if without.throttle else pace.throttle
        self.ordered, self.buffers = not without.order, not without.buffers
        none, count = array("q", [0]), len(program)
        self.start, self.issued, self.end, self.cause = none * count, none * count, none * count, none * count
        self.free, self.last = [0] * len(QUEUES), [0] * len(QUEUES)
        self.engines = [[0] * pace.engines for _ in QUEUES[LOAD:]]
        self.path, self.hbm = [0] * len(self.engines), [0] * len(self.engines)
        self.used: dict[Claim, int] = {}
        self.cold = self.throttle.ramp if self.throttle else 0
        self.window = self.window_busy = 0
        self.seen = 0
        # What was busy how long so far.
        self.queue_busy = [0] * len(QUEUES)
        self.dma_busy = self.path_busy = self.hbm_busy = 0

    @property
    def total(self) -> int:
        return max(self.last)

    def busy(self) -> dict[str, int]:
        """DMA: what each engine would be busy if all shared the work evenly, or their common way."""
        spent = {name: self.queue_busy[at] for at, name in enumerate(QUEUES[:LOAD]) if self.queue_busy[at]}
        dma = max(-(-self.dma_busy // len(self.engines[0])), self.path_busy)
        if dma:
            spent["dma"] = dma
        if self.hbm_busy:
            spent["hbm"] = self.hbm_busy
        return spent

    def snapshot(self) -> Snapshot:
        return Snapshot(
            tuple(self.free),
            tuple(self.last),
            tuple(tuple(sorted(ring)) for ring in self.engines),
            tuple(self.path),
            tuple(self.hbm),
            dict(self.used),
            self.cold,
            self.window,
            self.window_busy,
            self.seen,
        )

    def advance(self, begin: int, stop: int) -> None:
        """Carry out instructions `begin` to `stop`, one after the other."""
        program, plain, throttle = self.program, self.plain, self.throttle
        op_of, first, deps = self.op, program.first, program.deps
        starts, issues, ends, causes = self.start, self.issued, self.end, self.cause
        free, last, busy, used = self.free, self.last, self.queue_busy, self.used
        rings, everyone = self.engines, len(self.engines[0])
        path_free, hbm_free, seen = self.path, self.hbm, self.seen
        ordered, buffers = self.ordered, self.buffers
        low = first[begin]
        for number in range(begin, stop):
            queue, issue, latency, spread, hbm, path, floor, claims, hold = plain[op_of[number]]
            start, cause = free[queue], TURN if seen >> queue & 1 else LAUNCHED
            high = first[number + 1]
            if low != high:
                if ordered:
                    for at in range(low, high):
                        dep = deps[at]
                        ready = ends[dep >> 2]
                        if ready > start and (buffers or dep & 3 != BUFFER):
                            start, cause = ready, dep
                low = high
            seen |= 1 << queue
            if queue >= LOAD:
                # The ring makes the descriptors, then the first byte arrives, not before.
                arrived = start + hold + latency
                mine = queue - LOAD
                other = 1 - mine
                engines, others = rings[mine], rings[other]
                if spread == everyone and engines[0] == engines[-1]:
                    done = max(arrived, engines[0]) + issue
                    for each in range(everyone):
                        engines[each] = done
                        others[each] += issue
                else:
                    engines.sort()
                    done = 0
                    for each in range(spread):
                        finished = max(arrived, engines[each]) + issue
                        engines[each] = finished
                        others[each] += issue
                        done = max(done, finished)
                    engines.sort()
                    others.sort()
                self.dma_busy += issue * spread
                done = max(done, arrived + floor)
                if path:
                    path_free[mine] = max(path_free[mine], arrived) + path
                    path_free[other] += path
                    self.path_busy += path
                    done = max(done, path_free[mine])
                if hbm:
                    hbm_free[mine] = max(hbm_free[mine], arrived) + hbm
                    hbm_free[other] += hbm
                    self.hbm_busy += hbm
                    done = max(done, hbm_free[mine])
                busy[queue] += issue
                issued = free[queue] = start + hold
                end = done
            else:
                if throttle is not None and queue == 0 and issue:
                    window = self.window
                    if start - window >= throttle.window:
                        if self.window_busy < throttle.rearm * (start - window) // throttle.window:
                            self.cold = start + throttle.ramp
                        self.window, self.window_busy = start, 0
                    if start < self.cold:
                        issue = issue * throttle.slow // 1000
                    self.window_busy += issue
                if claims:
                    for _, rival in claims:
                        if used.get(rival, 0) > start:
                            start, cause = used[rival], EXCLUDED
                    for own, _ in claims:
                        used[own] = start + issue
                issued = free[queue] = start + issue
                busy[queue] += issue
                end = issued + latency
            if end < last[queue]:
                end = last[queue]
            last[queue] = end
            starts[number], issues[number], ends[number], causes[number] = start, issued, end, cause
        self.seen = seen
