"""Every documented figure that can serve as a peak, brought to the scope that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cached_property, lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from trnbench.facts.fact import Direction, Fact, Peak, Provenance, Scope, show_printed
from trnbench.facts.metric import LINK_LEVELS, METRICS
from trnbench.generation import System
from trnbench.kernels.work import Extent
from trnbench.record import Record


class Parts(Record):
    """Counts of a system of scope `own`: `cores` of a device, `devices` and `hosts` in all, and `logical`
    cores in one logical core."""

    own: Scope
    cores: int
    devices: int
    hosts: int
    logical: int

    @classmethod
    def of(cls, system: System, extent: Extent | None = None) -> Parts:
        """A logical core is as many cores as `extent` says (two where it does not)."""
        cores = system.cores_per_device
        logical = max(extent.cores, 2) if extent is not None and extent.scope is Scope.LOGICAL_CORE else 2
        return cls(
            own=system.instance.scope,
            cores=cores,
            devices=system.devices,
            hosts=system.hosts,
            logical=min(logical, cores),
        )

    def has(self, scope: Scope) -> bool:
        """Whether the system has parts of `scope`, or is of it."""
        if scope.rank <= Scope.INSTANCE.rank:
            return True
        return scope is self.own

    def devices_in(self, scope: Scope) -> Fraction:
        """Devices in one part of `scope`; a core is a fraction of one."""
        if scope in (Scope.ENGINE, Scope.CORE):
            return Fraction(1, self.cores)
        if scope is Scope.LOGICAL_CORE:
            return Fraction(self.logical, self.cores)
        if scope is Scope.DEVICE:
            return Fraction(1)
        if scope is Scope.INSTANCE and self.own is not Scope.INSTANCE:
            return Fraction(self.devices, self.hosts)
        return Fraction(self.devices)


@lru_cache(maxsize=1024)
def step(parts: Parts, start: Scope, to: Scope) -> tuple[Fraction, str]:
    """(factor, arithmetic) from a figure of `start` to one of `to`: (1/32, "/ 16 devices / 2 cores")."""
    factor = parts.devices_in(to) / parts.devices_in(start)
    if factor == 1:
        return factor, ""
    if start.rank > Scope.DEVICE.rank and to.rank > Scope.DEVICE.rank:
        return factor, _times(factor, "instance")
    if start.rank < Scope.DEVICE.rank and to.rank < Scope.DEVICE.rank:
        return factor, _times(factor, "core")
    above = _times(parts.devices_in(to), "device") if to.rank > Scope.DEVICE.rank else ""
    below = _times(1 / parts.devices_in(start), "device") if start.rank > Scope.DEVICE.rank else ""
    words = [_in_device(parts, start, up=True), below, above, _in_device(parts, to, up=False)]
    return factor, " ".join(word for word in words if word)


def _in_device(parts: Parts, scope: Scope, *, up: bool) -> str:
    if scope.rank >= Scope.DEVICE.rank:
        return ""
    name = "logical core" if scope is Scope.LOGICAL_CORE else "core"
    count = 1 / parts.devices_in(scope)
    return _times(count if up else 1 / count, name)


def _times(factor: Fraction, noun: str) -> str:
    if factor == 1:
        return ""
    sign, count = ("×", factor) if factor > 1 else ("/", 1 / factor)
    number = f"{count.numerator:,}" if count.denominator == 1 else f"{float(count):,.4g}"
    return f"{sign} {number} {noun}s"


P = ParamSpec("P")
R = TypeVar("R")


def once_for_system(answer: Callable[Concatenate[System, P], R]) -> Callable[Concatenate[System, P], R]:
    """A function of a system and of hashable values, worked out once for each: cases of many scopes and sizes
    share it."""
    key = f"{answer.__module__}.{answer.__qualname__}"

    @wraps(answer)
    def known(system: System, /, *args: P.args, **named: P.kwargs) -> R:
        answers: dict[Any, R] = vars(system).setdefault(key, {})
        asked = (args, *sorted(named.items()))
        if asked not in answers:
            answers[asked] = answer(system, *args, **named)
        return answers[asked]

    return known


_COMPUTED = (Provenance.DERIVED, Provenance.INFERRED)
_WHOLE = ("", "tensor")
"""Qualifiers of peak_flops that mean one thing: pages give the tensor engine's figure as the core's."""


class Wanted(Record, kw_only=True):
    """What a peak is asked for: nothing of another kind is taken for it."""

    metric: str
    scope: Scope
    dtype: str = ""
    sparse: bool = False
    qualifier: str = ""
    direction: Direction = Direction.NONE


class Candidate(Record, kw_only=True, dict=True):
    """A documented figure, or several of link levels that add up, and what policies rank it by.

    `distance`: how many scopes away it was printed; `nearness`: 0 the system itself, 1 the instance
    it is made of, 2 its device, 3 its core.
    """

    group: tuple[Fact, ...]
    wanted: Wanted
    parts: Parts
    distance: int
    nearness: int
    order: int
    seed: bool
    date: str

    @property
    def fact(self) -> Fact:
        return self.group[0]

    @property
    def sum(self) -> bool:
        """Whether it is made of the figures of several link levels."""
        return len(self.group) > 1

    @property
    def superseded_by(self) -> str:
        return next((fact.superseded_by for fact in self.group if fact.superseded_by), "")

    @cached_property
    def peak(self) -> Peak:
        """At the wanted scope; most candidates are ranked, and never looked at."""
        return _scaled(self)

    @property
    def bound(self) -> bool:
        """Whether the document prints it as "up to" or in running text."""
        return bool(self.fact.limit or self.fact.part)

    @property
    def computed(self) -> bool:
        return self.fact.provenance in _COMPUTED


def candidates(system: System, wanted: Wanted, parts: Parts) -> list[Candidate]:
    """All of them in file order, superseded ones included."""
    subjects = _subjects(system)
    matching = _of_kind(system, wanted.metric, wanted.dtype, wanted.sparse)
    fitting = []
    for order, group in _groups(matching, wanted):
        fact = group[0]
        if not _scales(_level(fact), wanted, parts):
            continue
        source = system.book.sources.get(fact.source)
        fitting.append(
            Candidate(
                group=group,
                wanted=wanted,
                parts=parts,
                distance=abs(_level(fact).rank - wanted.scope.rank),
                nearness=subjects[fact.subject],
                order=order,
                seed=source is not None and source.seed,
                date=source.date if source is not None else "",
            )
        )
    return fitting


def _subjects(system: System) -> dict[str, int]:
    """What a figure may speak of, and how near that is to the system."""
    instance = system.instance
    return {instance.name: 0, instance.parent: 1, instance.device: 2, instance.core: 3}


@once_for_system
def _of_kind(system: System, metric: str, dtype: str, sparse: bool) -> tuple[tuple[int, Fact], ...]:
    """Figures of the metric and type, whatever their scope, each with its place in the files."""
    subjects = _subjects(system)
    return tuple(
        (order, fact)
        for order, fact in enumerate(system.book.select(metric=metric))
        if fact.subject in subjects
        and fact.value
        and fact.sparse == sparse
        and _same_type(fact, metric, dtype)
    )


def _same_type(fact: Fact, metric: str, dtype: str) -> bool:
    if METRICS[metric].by_dtype:
        return dtype in fact.dtypes
    return not dtype or not fact.dtypes or dtype in fact.dtypes


def _groups(matching: Iterable[tuple[int, Fact]], wanted: Wanted) -> Iterator[tuple[int, tuple[Fact, ...]]]:
    """Single facts of the wanted qualifier, and link levels of one source that add up to the whole."""
    levels: dict[tuple[str, str, str, Scope], list[tuple[int, Fact]]] = {}
    for order, fact in matching:
        if fact.qualifier == wanted.qualifier or (
            wanted.metric == "peak_flops" and fact.qualifier in _WHOLE and wanted.qualifier in _WHOLE
        ):
            yield order, (fact,)
        elif not wanted.qualifier and fact.qualifier in LINK_LEVELS:
            levels.setdefault((fact.subject, fact.source, fact.part, fact.scope), []).append((order, fact))
    for facts in levels.values():
        yield facts[0][0], tuple(fact for _, fact in facts)


def _level(fact: Fact) -> Scope:
    return Scope.CORE if fact.scope is Scope.ENGINE else fact.scope


def _scales(start: Scope, wanted: Wanted, parts: Parts) -> bool:
    """Whether a figure of scope `start` says anything of the wanted one."""
    return parts.has(start) and (start is wanted.scope or METRICS[wanted.metric].additive)


def _scaled(candidate: Candidate) -> Peak:
    """The figure at the wanted scope, with its arithmetic."""
    group, wanted, fact = candidate.group, candidate.wanted, candidate.fact
    factor, arithmetic = step(candidate.parts, _level(fact), wanted.scope)
    turn, turned = _turn(fact.direction, wanted.direction)
    derived = bool(arithmetic or turned or len(group) > 1)
    formula, value = fact.formula, fact.value or 0.0
    if derived:
        printed = " + ".join(show_printed(printed_fact) for printed_fact in group)
        if len(group) > 1 and (arithmetic or turned):
            printed = f"({printed})"
        formula = " ".join(filter(None, (printed, turned, arithmetic)))
        # Rounded once, at the end.
        value = float(sum(Fraction(printed_fact.value or 0) for printed_fact in group) * factor * turn)
    return Peak(
        metric=wanted.metric,
        value=value,
        scope=wanted.scope,
        dtype=wanted.dtype,
        sparse=wanted.sparse,
        direction=wanted.direction if turned else fact.direction,
        qualifier=wanted.qualifier,
        evidence=_evidence(fact, derived),
        formula=formula,
        facts=tuple(printed_fact.id for printed_fact in group),
        source=fact.source,
        superseded_by=candidate.superseded_by,
    )


def _evidence(fact: Fact, derived: bool) -> str:
    if fact.provenance is Provenance.MEASURED:
        return "measured"
    return "derived" if derived or fact.provenance in _COMPUTED else "documented"


def _turn(printed: Direction, wanted: Direction) -> tuple[Fraction, str]:
    if (printed, wanted) == (Direction.BOTH_WAYS, Direction.ONE_WAY):
        return Fraction(1, 2), "/ 2 directions"
    if (printed, wanted) == (Direction.ONE_WAY, Direction.BOTH_WAYS):
        return Fraction(2), "× 2 directions"
    return Fraction(1), ""
