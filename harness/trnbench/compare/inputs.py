"""Why two models' numbers differ: the inputs that are not the same, of each case those it can have read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeVar

from trnbench.bounded.toml import parse_toml
from trnbench.compare.lines import lines_changed, rows_changed
from trnbench.errors import BadInput
from trnbench.facts.fact import Assumption, Fact
from trnbench.facts.format import show
from trnbench.facts.metric import METRICS
from trnbench.results.digest import is_shortened
from trnbench.results.measurement import Measurement
from trnbench.results.run import Run
from trnbench.run.inputs import COSTS
from trnbench.run.written import named_beside

T = TypeVar("T")

NOT_KEPT = "its inputs are unknown: a run of schema 3 or before does not keep them"
_ALIKE = (
    "sources, costs, facts and the model's version are the same: its code differs, or a package that it uses"
)


class Inputs:
    """Of two runs; texts are compared once, whatever number of cases asks."""

    def __init__(self, before: Run, after: Run) -> None:
        self._before, self._after = before, after

    def causes(self, before: Measurement, after: Measurement) -> tuple[str, ...]:
        """What differs of all that these two emulated numbers follow from, likeliest first."""
        reasons = [*self.sources(before, after), *self._costs(after), *self._facts(after)]
        old, new = before.evidence, after.evidence
        if (old.by, old.version) != (new.by, new.version):
            reasons.append(f"model is {new.by} {new.version}, was {old.by} {old.version}")
        if before.implementation != after.implementation:
            reasons.append(f"implementation is {after.implementation}, was {before.implementation}")
        if reasons:
            return tuple(reasons)
        kept = self._before.inputs and self._after.inputs
        return (_ALIKE if kept else NOT_KEPT,)

    def sources(self, before: Measurement, after: Measurement) -> Iterator[str]:
        """Edited kernel sources: those that the cases' own implementations reach first."""
        own = reached(before, self._before.inputs) | reached(after, self._after.inputs)
        others = self._reached - own
        for name, said in sorted(self._edited.items(), key=lambda each: (each[0] not in own, each[0])):
            if name not in others:
                yield said

    @cached_property
    def _edited(self) -> dict[str, str]:
        """Of each source that differs, what to say."""
        edits = {}
        for name, (old, new) in _differing(self._before.inputs, self._after.inputs).items():
            if name.startswith(COSTS) or not (self._before.inputs and self._after.inputs):
                continue
            if old is None or new is None:
                continue  # of another kernel: runs need not have the same ones
            if is_shortened(old) or is_shortened(new):
                edits[name] = f"{name} was edited (this copy of a run does not have its text)"
            elif said := lines_changed(name, old, new):
                edits[name] = said
        return edits

    @cached_property
    def _reached(self) -> set[str]:
        """Sources of any case's implementation: what only others reach is no cause."""
        return {
            name
            for run in (self._before, self._after)
            for implementation in {each.implementation for each in run.measurements}
            for name in _of_implementation(implementation, run.inputs)
        }

    def _costs(self, after: Measurement) -> Iterator[str]:
        folder = f"{COSTS}{after.case.generation}/"
        for name, said in self._rows.items():
            if name.startswith(folder):
                yield from (f"cost {name.removeprefix(folder)}: {each}" for each in said)

    @cached_property
    def _rows(self) -> dict[str, tuple[str, ...]]:
        """Of each cost file that differs, the rows that do."""
        rows = {}
        for name, (old, new) in _differing(self._before.inputs, self._after.inputs).items():
            if not name.startswith(COSTS) or old is None or new is None:
                continue
            try:
                said = tuple(rows_changed(*(parse_toml(each.encode(), name) for each in (old, new))))
            except BadInput:  # a fingerprint in the place of the text, or a file that was no TOML
                said = ("was edited",)
            rows[name] = said
        return rows

    def _facts(self, after: Measurement) -> Iterator[str]:
        system = self._after.systems.get(after.case.instance)
        told = self._books.get(after.case.generation, {})
        subjects = {system.instance, system.device, system.core} if system else set()
        near = {said for subject, found in told.items() if subject in subjects for said in found}
        yield from (said for found in told.values() for said in found if not near or said in near)

    @cached_property
    def _books(self) -> dict[str, dict[str, list[str]]]:
        """generation → subject → facts and assumptions that differ."""
        books: dict[str, dict[str, list[str]]] = {}
        for generation in self._before.books.keys() & self._after.books.keys():
            old, new = self._before.books[generation], self._after.books[generation]
            if old == new:
                continue
            by = books.setdefault(generation, {})
            facts = _differing({each.id: each for each in old.facts}, {each.id: each for each in new.facts})
            assumed = _differing(old.assumptions, new.assumptions)
            for kind, differing in (("fact", facts), ("assumption", assumed)):
                for name, (was, now) in differing.items():
                    one = now if now is not None else was
                    if one is not None and _figure(was) != _figure(now):
                        said = f"{kind} {name} is {_figure(now)}, was {_figure(was)}"
                        by.setdefault(one.subject, []).append(said)
        return books


def reached(measurement: Measurement, inputs: Mapping[str, str]) -> set[str]:
    """The sources among `inputs` that a case's implementation consists of."""
    return _of_implementation(measurement.implementation, inputs)


def _of_implementation(implementation: str, inputs: Mapping[str, str]) -> set[str]:
    """`nki: package.module:function`: that module's file, and what it names of its folder."""
    _, _, reference = implementation.partition(": ")
    module = reference.partition(":")[0].strip()
    waiting = [f"{module.replace('.', '/')}.py"]
    sources: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in sources or name not in inputs:
            continue
        sources.add(name)
        folder = name.rpartition("/")[0]
        waiting += [f"{folder}/{each}" for each in named_beside(inputs[name], folder.replace("/", "."))]
    return sources


def _differing(before: Mapping[str, T], after: Mapping[str, T]) -> dict[str, tuple[T | None, T | None]]:
    names = sorted({*before, *after})
    return {
        name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)
    }


def _figure(one: Fact | Assumption | None) -> str:
    if one is None:
        return "absent"
    metric = METRICS.get(one.metric)
    if one.value is None or metric is None:
        return f"{one.printed} {one.printed_unit}".strip()
    return show(one.value, metric.unit, digits=6)
