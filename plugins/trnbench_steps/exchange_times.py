"""How long a collective of a step takes: a question to the fabric inside a compiled graph."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from trnbench.facts.fact import Scope
from trnbench.generation import System
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.constants import GRAPH
from trnbench_emulator.fabric.question import Question
from trnbench_emulator.fabric.systems import fabric_of
from trnbench_steps.layout import Layout
from trnbench_steps.operators import Exchange
from trnbench_steps.stretches import NO_TIME, ExchangeTime

Groups: TypeAlias = tuple[tuple[int, ...], ...]


class ExchangeTimes:
    """StepRequest once for each size and groups."""

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
            return NO_TIME
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
    default = int(system.costs.get("lnc", {}).get("default", 1))
    return "core" if layout.lnc and layout.lnc != default else "logical-core"


def _smallest(system: System, level: str, groups: Groups) -> tuple[System, Groups, float]:
    """The system, the groups and the oversubscription of its network that have the answer of them all.

    Groups that lie within instances, alike in each, take as long as those of one instance: they share no
    link. Where every group has one rank in each instance and all ranks of an instance are in one, they share
    nothing but adapters, evenly: one group takes as long where the network carries as much less as ranks
    share an adapter. (`tests/workloads/test_exchange_times.py` holds both to the whole question.)
    """
    if not (groups and system.instance.sizable and system.size > 1):
        return system, groups, 1.0
    per_instance = fabric_of(system, Question(collective="", size=0, system=system, level=level).options).size
    per_instance //= system.size
    inside = {
        tuple(
            sorted(
                tuple(rank % per_instance for rank in group)
                for group in groups
                if group[0] // per_instance == number
            )
        )
        for number in {group[0] // per_instance for group in groups}
    }
    if len(inside) == 1 and all(len({rank // per_instance for rank in group}) == 1 for group in groups):
        return msgspec.structs.replace(system, size=1), inside.pop(), 1.0
    adapters = system.book.value(system.instance.parent, "efa_adapter_count", scope=Scope.INSTANCE)
    alone = all(len({rank // per_instance for rank in group}) == len(group) for group in groups)
    if alone and adapters and len({group[0] % per_instance for group in groups}) == per_instance:
        return system, groups[:1], max(per_instance / adapters, 1.0)
    return system, groups, 1.0
