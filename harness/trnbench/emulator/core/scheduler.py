"""One pass over a program: when each instruction starts and ends, and what it waited for."""

from __future__ import annotations

from array import array
from collections import Counter

import msgspec

from trnbench.emulator.core.pace import Claim, Pace, Step, Without
from trnbench.emulator.core.program import BUFFER, KINDS, LOAD, QUEUES, Program, queue_of

LAUNCHED, TURN, EXCLUDED = -1, -2, -3
NOTHING_REMOVED = Without()


class Mark(msgspec.Struct, frozen=True):
    """Somewhere in a program: when everything before it has ended, and what was busy how long."""

    total: int
    busy: dict[str, int]


class Schedule(msgspec.Struct, kw_only=True):
    """Ticks of every instruction of `program`. `cause`: the dependency it waited for longest (as in
    `Program.deps`), TURN of its queue, EXCLUDED from a memory, or LAUNCHED. `marks`: the end of all
    instructions before each of the positions asked for.
    """

    program: Program
    total: int
    busy: dict[str, int]
    start: array[int]
    issued: array[int]
    end: array[int]
    cause: array[int]
    marks: tuple[Mark, ...] = ()

    def path(self) -> dict[str, int]:
        """The critical path by cause, in ticks; adds up to `total`."""
        if not len(self.program):
            return {}
        spent: Counter[str] = Counter()
        program = self.program
        at = max(range(len(program)), key=lambda each: (self.end[each], each))
        until = self.end[at]
        # For a queue's turn: the instruction that was in the queue before.
        while at >= 0:
            op = program.ops[program.op[at]]
            spent[f"{op.opcode} on {op.engine}"] += until - self.start[at]
            until = self.start[at]
            cause = self.cause[at]
            if cause >= 0:
                before = cause >> 2
                spent[KINDS[cause & 3]] += max(until - self.end[before], 0)
                until = min(until, self.end[before])
                at = before
            elif cause == LAUNCHED:
                break
            else:
                at = self._previous(at, until, cause)
        if until:
            spent["earlier instructions"] += until
        return {name: ticks for name, ticks in spent.items() if ticks}

    def _previous(self, at: int, until: int, cause: int) -> int:
        """Whoever held the queue (or the memory) until this one could begin."""
        for each in range(at - 1, -1, -1):
            if self.issued[each] == until and self.start[each] < until:
                return each
        return -1

    def strip(self, parts: int = 40) -> dict[str, str]:
        """How busy each engine's queue was in `parts` equal spans: one digit each, 9 is all of it."""
        width = max(-(-self.total // parts), 1)
        spent: dict[int, list[int]] = {}
        for number in range(len(self.program)):
            queue = queue_of(self.program.ops[self.program.op[number]])
            start, end = self.start[number], self.issued[number]
            if queue >= LOAD or start == end:
                continue
            row = spent.setdefault(queue, [0] * parts)
            for span in range(start // width, (end - 1) // width + 1):
                row[span] += min(end, (span + 1) * width) - max(start, span * width)
        return {
            QUEUES[queue]: "".join(str(min(9 * ticks // width, 9)) for ticks in row)
            for queue, row in sorted(spent.items())
        }

    def by_place(self) -> dict[tuple[str, int], int]:
        """Ticks in which a line's instructions kept their queue busy."""
        spent: Counter[tuple[str, int]] = Counter()
        for number in range(len(self.program)):
            place = self.program.places[self.program.place[number]]
            spent[place] += self.issued[number] - self.start[number]
        return dict(spent)


def schedule(
    program: Program,
    pace: Pace,
    *,
    without: Without = NOTHING_REMOVED,
    marks: tuple[int, ...] = (),
) -> Schedule:
    """start = max(queue free, operands ready, memory not excluded), in program order.

    Queues issue and complete in order. A transfer is spread over the DMA engines that are free first;
    its start is hidden behind the transfers before it, and its bytes pass the way that the engines share
    and the core's share of HBM.
    """
    steps: list[Step] = [pace.step(op, without) for op in program.ops]
    plain = [(s.queue, s.issue, s.latency, s.engines, s.hbm, s.path, s.floor, s.claims) for s in steps]
    count = len(program)
    starts, ends = array("q", bytes(8 * count)), array("q", bytes(8 * count))
    issues, causes = array("q", bytes(8 * count)), array("q", bytes(8 * count))
    free, last = [0] * len(QUEUES), [0] * len(QUEUES)
    engines = [0] * pace.engines
    everyone = pace.engines
    busy = [0] * len(QUEUES)
    dma_busy = hbm_free = hbm_busy = path_free = path_busy = 0
    exclusive = not without.exclusions
    used: dict[Claim, int] = {}
    throttle = None if without.throttle else pace.throttle
    cold = throttle.ramp if throttle else 0
    window = window_busy = 0
    first, deps, op_of = program.first, program.deps, program.op
    ordered, buffers = not without.order, not without.buffers
    total, seen = 0, 0
    marked: list[Mark] = []
    pending = list(marks)
    low = 0
    for number in range(count):
        while pending and pending[0] == number:
            marked.append(Mark(total, _busy(busy, max(-(-dma_busy // everyone), path_busy), hbm_busy)))
            pending.pop(0)
        queue, issue, latency, spread, hbm, path, floor, claims = plain[op_of[number]]
        start, cause = free[queue], TURN if seen >> queue & 1 else LAUNCHED
        high = first[number + 1]
        if ordered and low != high:
            for at in range(low, high):
                dep = deps[at]
                ready = ends[dep >> 2]
                if ready > start and (buffers or dep & 3 != BUFFER):
                    start, cause = ready, dep
        low = high
        seen |= 1 << queue
        if queue >= LOAD:
            begin = start + latency  # the first byte, not before
            if spread == everyone and engines[0] == engines[-1]:
                done = max(begin, engines[0]) + issue
                for each in range(everyone):
                    engines[each] = done
            else:
                engines.sort()
                done = 0
                for each in range(spread):
                    finished = max(begin, engines[each]) + issue
                    engines[each] = finished
                    done = max(done, finished)
                engines.sort()
            dma_busy += issue * spread
            path_free = max(path_free, begin) + path
            path_busy += path
            done = max(done, path_free, begin + floor)
            if hbm:
                hbm_free = max(hbm_free, begin) + hbm
                hbm_busy += hbm
                done = max(done, hbm_free)
            busy[queue] += issue
            issued = free[queue] = start
            end = done
        else:
            if throttle is not None and queue == 0 and issue:
                if start - window >= throttle.window:
                    if window_busy < throttle.rearm * (start - window) // throttle.window:
                        cold = start + throttle.ramp
                    window, window_busy = start, 0
                if start < cold:
                    issue = issue * throttle.slow // 1000
                window_busy += issue
            if claims and exclusive:
                for _, rival in claims:
                    if used.get(rival, 0) > start:
                        start, cause = used[rival], EXCLUDED
                for own, _ in claims:
                    used[own] = start + issue
            issued = free[queue] = start + issue
            busy[queue] += issue
            end = issued + latency
        end = max(end, last[queue])
        last[queue] = end
        starts[number], issues[number], ends[number], causes[number] = start, issued, end, cause
        total = max(total, end)
    spent = _busy(busy, max(-(-dma_busy // everyone), path_busy), hbm_busy)
    marked += [Mark(total, spent)] * len(pending)
    return Schedule(
        program=program,
        total=total,
        busy=spent,
        start=starts,
        issued=issues,
        end=ends,
        cause=causes,
        marks=tuple(marked),
    )


def _busy(queues: list[int], dma: int, hbm: int) -> dict[str, int]:
    """DMA: what each of its engines would be busy if all shared the work evenly, or their common way."""
    spent = {name: queues[at] for at, name in enumerate(QUEUES[:LOAD]) if queues[at]}
    if dma:
        spent["dma"] = dma
    if hbm:
        spent["hbm"] = hbm
    return spent
