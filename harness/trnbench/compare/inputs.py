"""Why two numbers differ: inputs of models line by line, and the conditions of machines."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeVar

from msgspec.structs import replace

from trnbench.backend import READS
from trnbench.bounded import parse_toml
from trnbench.compare.edit import lines_changed, rows_changed
from trnbench.errors import BadInput
from trnbench.facts.fact import Assumption, Fact, FactBook
from trnbench.facts.metric import METRICS
from trnbench.facts.units import percent, show
from trnbench.results.digest import fingerprint, is_shortened, text_digest
from trnbench.results.measurement import Conditions, Grade, Measurement
from trnbench.results.run import Run
from trnbench.results.statistics import median
from trnbench.run.resumption import differences
from trnbench.run.snapshot import COSTS
from trnbench.run.sources import named_beside

T = TypeVar("T")

NOT_KEPT = "its inputs are unknown: a run of schema 3 or before does not keep them"
_ALIKE = (
    "sources, costs, the facts that it reads and the model's version are the same: its code differs, or a "
    "package that it uses"
)

_ASSUMED = "assumption:"
"""Begins the word for an assumption among what a model reads."""

_NO_TEXT = "(this copy of a run does not have its text)"
"""Ends what is told of a source by its digest alone; a comment may be all that differs."""


class Inputs:
    """Of two runs; texts are compared once, whatever number of cases asks."""

    def __init__(self, before: Run, after: Run) -> None:
        self._before, self._after = before, after
        self._known: dict[tuple[Hashable, ...], tuple[str, ...]] = {}

    def causes(self, before: Measurement, after: Measurement) -> tuple[str, ...]:
        """What differs of all that these two emulated numbers follow from, likeliest first.

        Costs and facts that a plugin brings belong to the version of its model: where that is another one,
        it is the cause and not each of them.
        """
        key = (
            after.case.generation,
            *(
                of
                for each in (before, after)
                for of in (each.implementation, each.evidence.by, each.evidence.version)
            ),
        )
        if key not in self._known:
            self._known[key] = self._causes(before, after)
        return self._known[key]

    def _causes(self, before: Measurement, after: Measurement) -> tuple[str, ...]:
        edited = [*self.sources(before, after), *filter(None, [self._digests.get(after.case.generation)])]
        reasons = [each for each in edited if not each.endswith(_NO_TEXT)]
        old, new = before.evidence, after.evidence
        if (old.by, old.version) != (new.by, new.version):
            reasons.append(f"model is {new.by} {new.version}, was {old.by} {old.version}")
        else:
            reasons += [*self._costs(after), *self._facts(after)]
        if before.implementation != after.implementation:
            reasons.append(f"implementation is {after.implementation}, was {before.implementation}")
        return tuple(reasons or edited)

    @property
    def unknown(self) -> str:
        """The sentence where nothing that was recorded differs."""
        return _ALIKE if self._before.inputs and self._after.inputs else NOT_KEPT

    def sources(self, before: Measurement, after: Measurement) -> Iterator[str]:
        """Edited kernel sources: those that the cases' own implementations reach first."""
        own = reached(before.implementation, self._before.inputs)
        own |= reached(after.implementation, self._after.inputs)
        others = self._reached - own
        for name, sentence in sorted(self._edited.items(), key=lambda each: (each[0] not in own, each[0])):
            if name not in others:
                yield sentence

    @cached_property
    def _texts(self) -> dict[str, tuple[str, str]]:
        """Inputs of both runs that differ, by name; those of one alone are of another kernel. Where a run has
        but the digest of a text, digests are compared."""
        return {
            name: (old, new)
            for name, (old, new) in _differing(self._before.inputs, self._after.inputs).items()
            if old is not None and new is not None and text_digest(old) != text_digest(new)
        }

    @cached_property
    def _edited(self) -> dict[str, str]:
        """Of each source that differs, what to say."""
        edits = {}
        for name, (old, new) in self._texts.items():
            if name.startswith((COSTS, FACTS)):
                continue
            if is_shortened(old) or is_shortened(new):
                edits[name] = f"{name} was edited {_NO_TEXT}"
            elif sentence := lines_changed(name, old, new):
                edits[name] = sentence
        return edits

    @cached_property
    def _reached(self) -> set[str]:
        """Sources of any case's implementation: what only others reach is no cause."""
        return {
            name
            for run in (self._before, self._after)
            for implementation in {measurement.implementation for measurement in run.measurements}
            for name in reached(implementation, run.inputs)
        }

    def _costs(self, after: Measurement) -> Iterator[str]:
        folder, read = f"{COSTS}{after.case.generation}/", self._read(after)
        for name, rows in self._rows.items():
            if not name.startswith(folder):
                continue
            for row, sentence in rows:
                if not (row and read) or f"cost:{row.partition('.')[0].partition('[')[0]}" in read:
                    yield f"cost {name.removeprefix(folder)}: {sentence}"

    def _read(self, after: Measurement) -> frozenset[str]:
        """What a case carried out in its way follows from; empty where its model does not say."""
        kind = after.implementation.partition(":")[0]
        return frozenset(str(self._after.environment.get(f"{READS}_{kind}", "")).split())

    @cached_property
    def _rows(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Of each cost file that differs, the names of the rows that do, and what to say of each."""
        rows = {}
        for name, (old, new) in self._texts.items():
            if not name.startswith(COSTS):
                continue
            try:
                changed = rows_changed(*(parse_toml(text.encode(), name) for text in (old, new)))
                rows[name] = tuple((sentence.partition(" is ")[0], sentence) for sentence in changed)
            except BadInput:  # a fingerprint in the place of the text, or a file that was no TOML
                rows[name] = (("", "was edited"),)
        return rows

    def _facts(self, after: Measurement) -> Iterator[str]:
        """Of the system, its device and its core where any of these differ, else of the generation.

        Only those that the model reads for such a case, where it says so.
        """
        system = self._after.systems.get(after.case.instance)
        own = self._read(after)
        read = own or frozenset(str(self._after.environment.get(READS, "")).split())
        told = [
            (subject, sentence)
            for subject, word, sentence in self._books.get(after.case.generation, ())
            if not read
            or after.evidence.grade is not Grade.EMULATED
            or word in read
            or (word.startswith(_ASSUMED) and (not own or f"{_ASSUMED}*" in read))
        ]
        subjects = {system.instance, system.device, system.core} if system else set()
        near = [sentence for subject, sentence in told if subject in subjects]
        yield from near or (sentence for _, sentence in told)

    @cached_property
    def _digests(self) -> dict[str, str]:
        """generation → what to say where a baseline has but the digest of its facts, and these are others."""
        if self._before.books and self._after.books:
            return {}
        old, new = (_fact_digests(run) for run in (self._before, self._after))
        return {
            name: f"facts of {name} differ {_NO_TEXT}"
            for name, (was, now) in _differing(old, new).items()
            if was and now
        }

    @cached_property
    def _books(self) -> dict[str, list[tuple[str, str, str]]]:
        """generation → (subject, word, sentence) of facts and assumptions that differ, by the words of what a
        model reads."""
        books: dict[str, list[tuple[str, str, str]]] = {}
        for generation in self._before.books.keys() & self._after.books.keys():
            old, new = self._before.books[generation], self._after.books[generation]
            if old == new:
                continue
            facts = _differing({fact.id: fact for fact in old.facts}, {fact.id: fact for fact in new.facts})
            assumed = _differing(old.assumptions, new.assumptions)
            for kind, differing in (("fact", facts), ("assumption", assumed)):
                for name, (was, now) in differing.items():
                    one = now if now is not None else was
                    beside = ""
                    if isinstance(one, Fact) and (was is None or now is None):
                        other = _in_place_of(one, old if was is None else new)
                        if now is None and other is not None and differing.get(other.id, (other,))[0] is None:
                            continue  # told with the one that came
                        was, now = (other, now) if was is None else (was, other)
                        beside = f" ({other.id})" if other is not None else ""
                    if one is not None and _figure(was) != _figure(now):
                        sentence = f"{kind} {name} is {_figure(now)}, was {_figure(was)}{beside}"
                        word = one.metric if kind == "fact" else f"{_ASSUMED}{name}"
                        books.setdefault(generation, []).append((one.subject, word, sentence))
        return books


def _in_place_of(fact: Fact, book: FactBook) -> Fact | None:
    """What a book without this fact has for it: the same of another source, that which is not replaced
    first."""
    same = [each for each in book.facts if each.id.partition("@")[0] == fact.id.partition("@")[0]]
    return min(same, key=lambda each: bool(each.superseded_by), default=None)


FACTS = "facts/"
"""Begins the name under which a baseline keeps the digest of a generation's facts among its inputs."""


def facts_digest(book: FactBook) -> str:
    """In the form in which a run keeps the digest of a text: of what facts and assumptions say."""
    figures = {fact.id: _figure(fact) for fact in book.facts}
    figures |= {name: _figure(assumption) for name, assumption in book.assumptions.items()}
    return f"sha256:{fingerprint(json.dumps(figures, sort_keys=True).encode())}"


def _fact_digests(run: Run) -> dict[str, str]:
    """By generation, of its books or as a baseline keeps them."""
    kept = {name.removeprefix(FACTS): text for name, text in run.inputs.items() if name.startswith(FACTS)}
    return kept | {name: facts_digest(book) for name, book in run.books.items()}


def reached(implementation: str, inputs: Mapping[str, str]) -> set[str]:
    """The sources among `inputs` that `nki: package.module:function` consists of: that module's file, and
    what it names of its folder."""
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
        waiting += [f"{folder}/{file}" for file in named_beside(inputs[name], folder.replace("/", "."))]
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


_ASKED = ("selection", "tags", "jobs", "argv", "store", "isolate", "keep_identity", "maxfail", "timeout_s")
"""Settings that say which cases were carried out, and how many at once; no number follows from them."""
_CLOCK = 0.02
"""A clock that differs by more is told; it varies by less from moment to moment."""
_SHARE = 0.05
"""So is a share of processor time that somebody else had."""


def surroundings(before: Run, after: Run) -> tuple[str, ...]:
    """In a line each; facts, costs and sources are told with the cases that they change."""
    return (
        *differences(_bare(before), _bare(after)),
        *conditions_changed(before.measurements, after.measurements),
    )


def _bare(run: Run) -> Run:
    settings = {name: value for name, value in run.settings.items() if name not in _ASKED}
    return replace(
        run, settings=settings, systems={}, books={}, topologies={}, fidelity=None, measurements=()
    )


def conditions_changed(before: Iterable[Measurement], after: Iterable[Measurement]) -> Iterator[str]:
    """Of measured cases: what their processes met that those of the other run did not."""
    old, new = (
        [process.conditions for case in side for process in case.processes if process.conditions is not None]
        for side in (before, after)
    )
    clocks = [[value for conditions in side for value in conditions.clock_hz] for side in (old, new)]
    if all(clocks):
        was, now = (median(side) for side in clocks)
        if was > 0 and abs(now / was - 1.0) > _CLOCK:
            yield f"clock of the processor was {show(was, 'Hz')}, is {show(now, 'Hz')}"
    for name, loss in (
        ("others", "that others had the processor"),
        ("pressure", "waiting for a processor"),
        ("stolen", "taken by other virtual machines"),
    ):
        shares = [_shares(side, name) for side in (old, new)]
        if all(shares):
            was, now = (median(side) for side in shares)
            if abs(now - was) > _SHARE:
                yield f"share of time {loss} was {percent(was)}, is {percent(now)}"


def _shares(conditions: Iterable[Conditions], name: str) -> list[float]:
    return [value for condition in conditions if (value := getattr(condition, name)) is not None]
