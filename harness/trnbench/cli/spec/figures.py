"""Facts and peaks as rows: for people with prefixes, for machines in base units."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trnbench.errors import UnknownName
from trnbench.facts.fact import Direction, Fact, Peak, PeakChoice, PeakPolicy, Scope, show_printed
from trnbench.facts.metric import DTYPES, METRICS
from trnbench.facts.units import show
from trnbench.generation import System
from trnbench.peaks import choose_peak
from trnbench.terminal.output import Row

if TYPE_CHECKING:
    from trnbench.registry import Registry


RATES = ("hbm_bandwidth", "dma_bandwidth", "neuronlink_bandwidth", "efa_bandwidth")


class Asked(NamedTuple):
    """A peak to be looked up, and what it is called in tables."""

    name: str
    metric: str
    dtype: str = ""
    sparse: bool = False
    qualifier: str = ""


def named(fact: Fact) -> str:
    """metric[dtypes,sparse,qualifier]"""
    return _named(fact.metric, fact.dtypes, fact.sparse, fact.qualifier)


def _named(metric: str, dtypes: tuple[str, ...], sparse: bool, qualifier: str) -> str:
    inner = ", ".join(filter(None, (*dtypes, "sparse" if sparse else "", qualifier)))
    return f"{metric}[{inner}]" if inner else metric


def normalised(value: float | None, metric: str, dtypes: tuple[str, ...] = ()) -> str:
    """The value with the prefix that suits it; "" for words. Integer operations are OPS."""
    if value is None:
        return ""
    unit = METRICS[metric].unit
    return show(value, "OP/s" if unit == "FLOP/s" and dtypes == ("int8",) else unit, 4)


def fact_row(fact: Fact) -> Row:
    """A documented figure: as printed, and in the base unit of its metric."""
    return {
        "subject": fact.subject,
        "metric": named(fact),
        "printed": show_printed(fact),
        "normalised": normalised(fact.value, fact.metric, fact.dtypes),
        "scope": str(fact.scope),
        "direction": str(fact.direction),
        "evidence": str(fact.provenance),
        "source": fact.source,
        "locator": fact.locator,
        "superseded_by": fact.superseded_by,
        "value": fact.value,
        "unit": METRICS[fact.metric].unit,
        "formula": fact.formula,
        "note": fact.note,
        "id": fact.id,
    }


def asked(system: System) -> list[Asked]:
    """Every peak that some document of the system's parts makes it possible to choose."""
    instance = system.instance
    subjects = {instance.name, instance.parent, instance.device, instance.core}
    kinds: dict[tuple[str, bool, str], None] = {}
    for fact in system.book.facts:
        if fact.metric == "peak_flops" and fact.subject in subjects:
            # Pages give the tensor engine's figure as the core's.
            qualifier = "" if fact.qualifier == "tensor" else fact.qualifier
            kinds |= {(dtype, fact.sparse, qualifier): None for dtype in fact.dtypes}
    ordered = sorted(kinds, key=lambda kind: (kind[2] != "", kind[2], kind[1], DTYPES.index(kind[0])))
    flops = [
        Asked(_named("peak_flops", (dtype,), sparse, qualifier), "peak_flops", dtype, sparse, qualifier)
        for dtype, sparse, qualifier in ordered
    ]
    return [*flops, *(Asked(metric, metric) for metric in RATES)]


def choices(system: System, scope: Scope, policy: PeakPolicy) -> Iterator[tuple[Asked, PeakChoice]]:
    """What is asked of a system, each with the peak that `policy` names; without those no document has."""
    for wanted in asked(system):
        choice = choose_peak(
            system,
            metric=wanted.metric,
            scope=scope,
            dtype=wanted.dtype,
            sparse=wanted.sparse,
            qualifier=wanted.qualifier,
            direction=Direction.NONE,
            policy=policy,
        )
        if choice is not None:
            yield wanted, choice


def peak_text(peak: Peak) -> str:
    """ "10.7 PFLOPS (documented, trn2-arch)" """
    marks = [peak.evidence, peak.source]
    if peak.superseded_by:
        marks.append(f"superseded by {peak.superseded_by}")
    return f"{peak_value(peak)} ({', '.join(filter(None, marks))})"


def peak_value(peak: Peak) -> str:
    """With the prefix that suits it."""
    return normalised(peak.value, peak.metric, (peak.dtype,) if peak.dtype else ())


def peak_row(each: Asked, choice: PeakChoice) -> Row:
    """The chosen peak, the engine's bound, and the figures that it was chosen from."""
    chosen = choice.chosen
    return {
        "metric": each.name,
        "scope": str(chosen.scope),
        "peak": peak_value(chosen),
        "evidence": chosen.evidence,
        "source": chosen.source,
        "formula": chosen.formula,
        "engine_bound": peak_value(choice.engine_bound) if choice.engine_bound is not None else None,
        "alternatives": "; ".join(map(peak_text, choice.alternatives)),
        "superseded_by": chosen.superseded_by,
        "note": choice.note,
        "policy": str(choice.policy),
        "value": chosen.value,
        "unit": METRICS[each.metric].unit,
        "choice": choice,
    }


def scope_of(given: str, default: Scope) -> Scope:
    """Raises `UnknownName` for a word that is no scope."""
    if not given:
        return default
    if given not in set(map(str, Scope)):
        raise UnknownName("scope", given, map(str, Scope), try_="--scope device")
    return Scope(given)


class Subject(NamedTuple):
    """`name` of facts, and the system and scope at which its peaks are taken."""

    name: str
    title: str
    scope: Scope
    system: System

    @property
    def facts(self) -> list[Fact]:
        """Its own facts; for a sizable system those of the instance it is made of, too."""
        own = list(self.system.book.select(self.name))
        parent = self.system.instance.parent
        if self.system.instance.sizable and parent and self.name == self.system.instance.name:
            own += self.system.book.select(parent)
        return own


def find_subject(registry: Registry, name: str, extra: tuple[Path, ...] = ()) -> Subject:
    """Raises `UnknownName` with the nearest instances, devices and cores."""
    if name.partition(":")[0] in registry.instance_names(aliases=True):
        system = registry.system(name, extra)
        return Subject(system.instance.name, system.instance.title, system.instance.scope, system)
    known = list(registry.instance_names(aliases=True))
    for generation in registry.generations.values():
        holders = [each for each in generation.instances if name in (each.device, each.core)]
        known += [part for each in generation.instances for part in (each.device, each.core)]
        if holders:
            # The largest single system stands for its parts: figures of a part are the same in each.
            single = [each for each in holders if not each.sizable] or holders
            system = max(
                (registry.system(each.name, extra) for each in single), key=lambda each: each.devices
            )
            scope = Scope.DEVICE if name == system.instance.device else Scope.CORE
            title = f"{'device' if scope is Scope.DEVICE else 'core'} of {generation.title}"
            return Subject(name, title, scope, system)
    if name in registry.generations:
        registry.instance(name)  # its refusal names the systems of the generation
    raise UnknownName("instance, device or core", name, set(known), try_="trnbench spec list")
