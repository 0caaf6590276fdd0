"""Operators and collectives in series, how long a collective takes, what of their transfers is exposed."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from trnbench import Scope, System
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.constants import GRAPH
from trnbench_emulator.fabric.groups import Groups, side_by_side
from trnbench_emulator.fabric.question import Question
from trnbench_emulator.fabric.systems import fabric_of
from trnbench_steps.kernel_times import Call, KernelTime
from trnbench_steps.layout import Layout
from trnbench_steps.operators import Exchange
from trnbench_steps.step_parts import COLLECTIVES, MEMORY, STARTS, Series


class Event(NamedTuple):
    """Something in series: an operator, a collective, or what transfers hold up."""

    name: str
    part: str
    seconds: float


class ExchangeTime(NamedTuple):
    """Seconds of a collective in a graph without its residue: the start, and what links and memory take."""

    start_s: float
    moving_s: float


class Stretches:
    """Operators one after the other, from collective to collective.

    Where activations stay in SBUF, the weights and caches of all operators up to the next collective stream
    in while the engines work (DMA engines run beside them: AWS Neuron, Introduction to DMA with NKI); what
    they take beyond the engines' work is exposed, and so is the time until the first of them arrive.
    Collectives and host overlap with nothing.
    """

    def __init__(self, part: str) -> None:
        self._part = part
        self.events: list[Event] = []
        self._seconds: dict[str, float] = {}
        self._operators = self._by_roofline = self._by_kernels = 0.0
        self._begin()

    def _begin(self) -> None:
        self._engines = self._stream = self._arrival = 0.0

    def _spend(self, part: str, seconds: float, name: str) -> None:
        if seconds:
            into = part if part in (COLLECTIVES, STARTS) else self._part or part
            self._seconds[into] = self._seconds.get(into, 0.0) + seconds
            self.events.append(Event(name, into, seconds))

    def kernel(self, name: str, part: str, call: Call, found: KernelTime) -> None:
        self._operators += call.operators
        self._spend(part, found.engines, name)
        self._by_kernels += 0.0 if call.compiled else found.engines
        if not call.stays:
            self._spend(MEMORY, found.memory, f"{name}: transfers")
            return
        self._engines += found.engines
        if call.weights:
            if not self._stream:
                self._arrival = max(found.all - max(found.engines, found.stream), 0.0)
            self._stream += found.stream

    def own_kernel(self, name: str, part: str, found: KernelTime) -> None:
        """A user's: its operands and its result lie in HBM, and no weights of others stream in beside it."""
        self._end()
        self._operators += 1
        self._spend(part, found.engines, f"{name}, own kernel")
        self._by_kernels += found.engines
        self._spend(MEMORY, found.memory, f"{name}, own kernel: transfers")

    def round_trip(self, name: str, seconds: float) -> None:
        """What a neighbour of a user's kernel has to store, or to load, that stayed in SBUF before."""
        self._spend(MEMORY, seconds, f"{name}: to HBM and back")

    def roofline(self, name: str, part: str, engines: float, memory: float) -> None:
        self._operators += 1
        self._spend(part, engines, f"{name}, by roofline")
        self._spend(MEMORY, memory, f"{name}: transfers")
        self._by_roofline += engines + memory

    def exchange(self, name: str, found: ExchangeTime) -> None:
        self._end()
        self._spend(STARTS, found.start_s, f"{name}: start")
        self._spend(COLLECTIVES, found.moving_s, name)

    def _end(self) -> None:
        exposed = max(self._stream - self._engines, 0.0) + self._arrival
        self._spend(MEMORY, exposed, "weights and cache that are still on their way")
        self._begin()

    def series(self) -> Series:
        self._end()
        return Series(
            seconds=self._seconds,
            operators=self._operators,
            by_roofline=self._by_roofline,
            by_kernels=self._by_kernels,
        )


class ExchangeTimes:
    """Asked once for each size and groups."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], ExchangeTime] = {}
        self._where: dict[tuple[object, ...], tuple[System, Groups, float]] = {}

    def time(self, exchange: Exchange, layout: Layout, system: System) -> ExchangeTime:
        """Nothing where a group is one rank. Raises what `ask` raises."""
        level = _level(layout, system)
        place = (id(system.book), id(system.costs), system.name, level, layout, exchange.axis)
        if place not in self._where:
            self._where[place] = _smallest(system, level, layout.groups(exchange.axis))
        asked, groups, shared = self._where[place]
        if not groups or exchange.size < 1:
            return ExchangeTime(0.0, 0.0)
        question = Question(
            collective=exchange.collective,
            size=exchange.size,
            system=asked,
            groups=groups,
            level=level,
            context=GRAPH,
            oversubscription=shared,
        )
        key = (*place[:4], asked.size, question.key, shared)
        if key not in self._known:
            answer = ask(question)
            self._known[key] = ExchangeTime(answer.start_s, answer.moving_s)
        return self._known[key]


def _level(layout: Layout, system: System) -> str:
    return "core" if layout.lnc and layout.lnc != system.default_lnc else "logical-core"


def _smallest(system: System, level: str, groups: Groups) -> tuple[System, Groups, float]:
    """The system, the groups and the oversubscription of its network that have the answer of them all.

    Groups that lie within an instance, or within a few side by side, alike in each, take as long as those of
    the first: they share no link. Where every group has one rank in each instance and all ranks of an
    instance are in one, they share nothing but adapters, evenly: one group takes as long where the network
    carries as much less as ranks share an adapter. (`tests/workloads/test_exchange_times.py` holds both to
    the whole question.)
    """
    if not (groups and system.instance.sizable and system.size > 1):
        return system, groups, 1.0
    per_instance = fabric_of(system, Question(collective="", size=0, system=system, level=level).options).size
    per_instance //= system.size
    instances, inside = side_by_side(groups, per_instance)
    if instances:
        system, groups = replace(system, size=instances), inside
    if instances == 1:
        return system, groups, 1.0
    adapters = system.book.value(system.instance.parent, "efa_adapter_count", scope=Scope.INSTANCE)
    alone = all(len({rank // per_instance for rank in group}) == len(group) for group in groups)
    if alone and adapters and len({group[0] % per_instance for group in groups}) == per_instance:
        return system, groups[:1], max(per_instance / adapters, 1.0)
    return system, groups, 1.0
