"""How far an answer moves when what no document says is read another way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from trnbench.facts.units import show
from trnbench.generation import System
from trnbench.record import Record
from trnbench.terminal.word_values import BUILDERS, READINGS
from trnbench_emulator.compiler import assuming
from trnbench_emulator.fabric.answer import Answer
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.question import Question
from trnbench_emulator.fabric.systems import Fabric, fabric_of


class Shift(Record, kw_only=True):
    """`name` set to `setting` instead of `usual`: seconds, and those over the usual ones."""

    name: str
    usual: str
    setting: str
    time_s: float
    ratio: float
    reason: str


def sensitivity(question: Question) -> tuple[Answer, list[Shift]]:
    """The answer, and what becomes of it at both ends of every assumption that the links use,
    and under every other reading of the documents. The largest shift comes first."""
    base = ask(question)
    shifts = [
        Shift(
            name=name,
            usual=usual,
            setting=setting,
            time_s=(time_s := ask(other).time_s),
            ratio=time_s / base.time_s,
            reason=reason,
        )
        for name, usual, setting, reason, other in _others(question)
    ]
    return base, sorted(shifts, key=lambda each: (-abs(each.ratio - 1), each.name, each.setting))


def assumed(fabric: Fabric) -> list[str]:
    """Assumptions behind the links that carry traffic, in the order of the topology."""
    known = fabric.system.book.assumptions
    # A figure that is a sum names each of its parts.
    origins = [
        origin
        for figure in fabric.figures
        for origin in figure.origin.split(" + ")
        if figure.assumed and origin in known
    ]
    return list(dict.fromkeys(origins))


def _others(question: Question) -> Iterator[tuple[str, str, str, str, Question]]:
    system, fabric = question.system, fabric_of(question.system, question.options)

    def on(other: System) -> Question:
        return replace(question, system=other)

    for name in assumed(fabric):
        usual = system.book.assumptions[name]
        unit = _unit(usual.metric)
        for value in (usual.low, usual.high):
            if value != usual.value:
                other = on(assuming(system, name, value))
                yield name, show(usual.value, unit), show(value, unit), usual.reason, other
    for name, each in fabric.constants.ranged.items():
        for value in (each.low, each.high):
            if value != each.value:
                system_then = replace(system, costs=_with(system.costs, each.path, value))
                told = f"{question.context} {name.replace('_', ' ')}"
                yield told, f"{each.value:g}", f"{value:g}", each.reason, on(system_then)
    for name, readings in ((BUILDERS[reading], values) for reading, values in READINGS.items()):
        if not system.takes(name):
            continue
        now = getattr(question, name) or readings[0]
        for reading in readings:
            if reading != now:
                other = replace(question, **{name: reading})
                yield name.replace("_", "-"), now, reading, "the documents can be read either way", other


def _with(costs: Mapping[str, Any], path: Sequence[str], value: float) -> dict[str, Any]:
    """Costs with another value of the row at the end of `path`."""
    if not path:
        return {**costs, "value": value}
    return {**costs, path[0]: _with(costs[path[0]], path[1:], value)}


def _unit(metric: str) -> str:
    from trnbench import METRICS

    return METRICS[metric].unit
