"""How long a collective of a step takes: a question to the fabric inside a compiled graph."""

from __future__ import annotations

import msgspec

from trnbench.emulator.fabric.algorithms.algorithm import ALL_REDUCE, REDUCE_SCATTER
from trnbench.emulator.fabric.ask import ask
from trnbench.emulator.fabric.constants import GRAPH
from trnbench.emulator.fabric.question import Question
from trnbench.emulator.fabric.systems import fabric_of
from trnbench.generation import System
from trnbench.workloads.layout import Axis, Layout
from trnbench.workloads.operators import Exchange


class ExchangeTimes:
    """Asked once for each size and group. `exchange` gives the seconds without the start inside a graph that
    `[fabric.graph]` assumes: a constant of the step takes its place."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], float] = {}
        self._groups: dict[tuple[Layout, Axis], tuple[tuple[int, ...], ...]] = {}

    def time(self, exchange: Exchange, layout: Layout, system: System) -> float:
        """0 where a group is one rank, or its cores are one. Raises what `ask` raises."""
        where = (layout, exchange.axis)
        if where not in self._groups:
            self._groups[where] = layout.groups(exchange.axis)
        groups = self._groups[where]
        if not groups or exchange.size < 1:
            return 0.0
        lnc = system.costs.get("lnc", {})
        level = "core" if layout.lnc and layout.lnc != int(lnc.get("default", 1)) else "logical-core"
        question = Question(
            collective=exchange.collective,
            size=exchange.size,
            system=system,
            groups=groups,
            level=level,
            context=GRAPH,
        )
        fabric = fabric_of(system, question.options)
        if (
            len(groups) == 1
            and sorted(groups[0]) == list(range(fabric.size))
            and groups[0] == tuple(range(fabric.size))
        ):
            question = msgspec.structs.replace(question, groups=())
        key = (id(system.book), id(system.costs), system.name, level, question.key)
        if key not in self._known:
            constants = fabric.constants
            reduces = exchange.collective in (ALL_REDUCE, REDUCE_SCATTER)
            start = constants.reduce_start * reduces
            start += constants.gather_start * (exchange.collective != REDUCE_SCATTER)
            self._known[key] = max(ask(question).time_s - start, 0.0)
        return self._known[key]
