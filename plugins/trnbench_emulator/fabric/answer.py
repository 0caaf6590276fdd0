"""What a question about the links comes to: the time, and where it goes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from msgspec.structs import replace

from trnbench.kernels.work import busbw_factor
from trnbench_emulator import TICKS_PER_SECOND, ticks
from trnbench_emulator.fabric.bound import Bound
from trnbench_emulator.fabric.explanation import LinkLoad, Waterfall, inexact, loads, waterfall
from trnbench_emulator.fabric.planner import Planner
from trnbench_emulator.fabric.question import EVEN_OF, PATTERNS, Question
from trnbench_emulator.fabric.solve import SLOWED, Carried, Solution, solve_beside

HOTTEST = 3


class Answer:
    """`size` in bytes as the question states it; bandwidths in bytes/s.

    `algorithm` is what ran, `asked` what was asked for; `left_out` why others were not tried for it,
    `choice` by what right `auto` took it. `level` says what a rank is, `context` whether it ran alone or in a
    compiled graph. `carrier`: the planner of what ran, where that is another collective, which contains this
    one. All but the time is worked out when asked for.
    """

    def __init__(
        self,
        question: Question,
        planner: Planner,
        carried: Carried,
        notes: tuple[str, ...] = (),
        *,
        carrier: Planner | None = None,
    ) -> None:
        self.question, self.planner, self.carried = question, planner, carried
        self.carrier = carrier or planner
        self.collective, self.asked = question.collective, question.algorithm
        self.level, self.context = planner.fabric.options.level, question.context
        self.ranks, self.size = planner.ranks, planner.size
        self.algorithm = carried.schedule.algorithm
        self.way = carried.solution.way
        self.solved_s, self.start_s = carried.solution.time_s, carried.schedule.startup_s
        self.time_s = self._in_context(self.algorithm, self.solved_s)
        self.left_out, self.choice = carried.left_out, carried.choice
        self.said = notes

    @cached_property
    def tried(self) -> dict[str, float]:
        """Seconds by every algorithm that was worth trying, those too that could not be the quickest."""
        carried = self.carried
        return {
            name: self._in_context(
                name,
                carried.tried[name]
                if name in carried.tried
                else self.planner.carried(name, carried.beside).solution.time_s,
            )
            for name in carried.worth
        }

    def _in_context(self, name: str, solved_s: float) -> float:
        """Seconds of what was solved by an algorithm, with what graphs take beyond it."""
        moving_s = solved_s - self._waited_s(name, solved_s)
        return solved_s + self.planner.constants.residue_s(moving_s, self.start_s)

    def _waited_s(self, name: str, solved_s: float) -> float:
        """What late ranks add to it, which graphs do not make longer."""
        if not (self.question.late and self.planner.constants.residue):
            return 0.0
        punctual = self.carrier.punctual.carried(name, self.carried.beside)
        waited_s = max(solved_s - punctual.solution.time_s, 0.0)
        return min(waited_s, self.question.slowest[1]) if self.carried.limit == SLOWED else waited_s

    @property
    def moving_s(self) -> float:
        """What links and memory take beside the start, the residue of graphs left out."""
        return self.solved_s - self.start_s

    @property
    def residue_s(self) -> float:
        """What published graphs take beyond start and links, and no mechanism explains; 0 alone."""
        return self.time_s - self.solved_s

    @property
    def range_s(self) -> tuple[float, float] | None:
        """Least and most seconds by the ranges of what is known of graphs; None alone."""
        constants = self.planner.constants
        if not constants.ranged:
            return None
        waited_s = self._waited_s(self.algorithm, self.solved_s)
        low, high = constants.range_s(self.solved_s - waited_s, self.start_s)
        return low + waited_s, high + waited_s

    @property
    def algbw(self) -> float:
        return self.size / self.time_s if self.time_s else 0.0

    @property
    def busbw(self) -> float:
        """algbw · factor (nccl-tests' performance notes), in bytes/s: true GB/s after division by 1e9."""
        return self.algbw * self.factor

    @property
    def factor(self) -> float:
        """Of uneven parts that of even ones, so `busbw` falls by what unevenness costs; 1 of messages."""
        if self.collective in PATTERNS:
            return 1.0
        return float(busbw_factor(EVEN_OF.get(self.collective, self.collective), self.ranks))

    @cached_property
    def bound(self) -> Bound:
        """What no algorithm beats."""
        return self.planner.bound(self.carried.schedule, self.carried.network)

    @cached_property
    def waterfall(self) -> Waterfall:
        reached = self.planner.bound(self.carried.schedule, self.carried.network, reached=True)
        bounds = (self.bound.bandwidth_s, reached.bandwidth_s)
        found = waterfall(self.carried, self._free, bounds, self._latency, self._overhead)
        return replace(found, residue=ticks(self.residue_s))

    @property
    def latency_s(self) -> float:
        """Of the links alone: what the time would be, were each infinitely wide and the ends free."""
        return self._latency / TICKS_PER_SECOND

    @property
    def overhead_s(self) -> float:
        """The start and the steps of the ends."""
        return self._overhead / TICKS_PER_SECOND

    @cached_property
    def link_s(self) -> float:
        """What links alone take beside these: accesses at the ends for nothing."""
        # The two may take different shortcuts; a part is never more than the whole.
        solution = self.carried.solution
        whole = min(self._free.total_ticks + solution.idle, solution.total_ticks)
        return max(whole - self._overhead - self._latency, 0) / TICKS_PER_SECOND

    @property
    def memory_s(self) -> float:
        """What the busiest device's memory needs for its accesses."""
        network = self.carried.network
        if not network.has_memory:
            return 0.0
        memories = network.capacity[len(network.links) :]
        return float((self.carried.solution.accessed / memories).max())

    @property
    def parts(self) -> dict[str, float]:
        """Seconds of what may bound it, the residue of graphs left out."""
        return {
            "latency": self.latency_s,
            "link": self.link_s,
            "hbm": self.memory_s,
            "overhead": self.overhead_s,
        }

    @property
    def memory_bytes(self) -> float:
        """Accesses of one device, the busiest."""
        return float(self.carried.solution.accessed.max(initial=0.0))

    @cached_property
    def links(self) -> tuple[LinkLoad, ...]:
        """All that carry something, the busiest first."""
        return tuple(loads(self.carried.network, self.carried.solution))

    @cached_property
    def hottest(self) -> tuple[LinkLoad, ...]:
        return tuple(loads(self.carried.network, self.carried.solution, HOTTEST))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What the schedule is made of, how far it can be off, what ran beside."""
        carried = self.carried
        return tuple(filter(None, (carried.schedule.note, inexact(carried), carried.limit, *self.said)))

    def detail(self) -> dict[str, Any]:
        """Small and JSON-safe: the waterfall in seconds, the hottest links, what was tried."""
        parts = ["ideal", "algorithm", "contention", "latency", "endpoint"]
        parts += ["residue"] * bool(self.residue_s)
        shown: dict[str, Any] = {
            "waterfall_s": {name: getattr(self.waterfall, name) / TICKS_PER_SECOND for name in parts},
            "bound_s": self.bound.time_s,
            "hottest_links": [
                [f"{link.src} > {link.dst}", link.bytes, round(link.utilisation, 4)] for link in self.hottest
            ],
        }
        if self.tried:
            shown["tried_s"] = self.tried
        if self.left_out:
            shown["not_tried"] = self.left_out
        return shown

    @cached_property
    def _overhead(self) -> int:
        schedule = self.carried.schedule
        return ticks(schedule.startup_s) + ticks(schedule.per_message_s) * schedule.steps

    @property
    def _latency(self) -> int:
        return max(round(self.carried.solution.latency_s * TICKS_PER_SECOND) - self._overhead, 0)

    @cached_property
    def _free(self) -> Solution:
        """The same with accesses at the ends for nothing."""
        carried = self.carried
        if not (carried.network.has_memory and carried.solution.memory):
            return carried.solution
        network, most = carried.network.with_free_memory, self.planner.fabric.most_effort
        return solve_beside(network, carried.schedule, carried.beside, most=most)
