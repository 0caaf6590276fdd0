"""How near published evidence stands to an emulated number, and what band follows (docs/fidelity.md)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from trnbench import BadInput, Case, Fidelity, Grade, Measurement, Metric, Scope, System, TrnbenchError, show
from trnbench.results.expectation import SHIPPED, above
from trnbench.results.measurement import Band, BestPublished, Limit, Nearest, Nearness
from trnbench.store.answers import RENEW, answers_of, files_of
from trnbench.store.answers import changed as changed_files
from trnbench_fidelity.nearness.bands import (
    Bands,
    Ends,
    Ranges,
    errors,
    over,
    shipped_bands,
    shipped_ranges,
    title,
)
from trnbench_fidelity.nearness.bands import bands as bands_of_points
from trnbench_fidelity.nearness.evidence import (
    GRAPH,
    LINKS,
    NAMED,
    ULTRASERVER,
    Evidence,
    Known,
    Subject,
    known,
    of_case,
    same_size,
)
from trnbench_fidelity.point import Kind, Quantity

if TYPE_CHECKING:
    from trnbench import Generation
    from trnbench.registry import Registry


COMPARED = (Nearness.SAME, Nearness.KERNEL, Nearness.OPERATION)
"""Classes whose points do the same: one of the same family alone does something else, at another rate."""

RANKS = ("ranks", "nodes", "cores", "devices")
"""Axes of a size that say who takes part, not how much work there is."""


def best_of(
    points: Iterable[Known], kind: Nearness, subject: Subject, metric: Metric, case: Case | None = None
) -> BestPublished | None:
    """The best of `points`, all of class `kind`, in the metric; None where none has it in the same scope.

    Of `case`, published times become rates by the work that its kernel counts for the published shape.
    """
    valued = [
        (value, point)
        for point in points
        if _alike(point, subject, metric) and (value := value_of(point, metric, case)) is not None
    ]
    if not valued or kind not in COMPARED:
        return None
    if kind is Nearness.KERNEL and (reached := [each for each in valued if _reaches(each[1], subject)]):
        valued = reached
    sign = 1.0 if metric.better == "higher" else -1.0
    value, best = max(valued, key=lambda each: (sign * each[0], each[1].id))
    return BestPublished(
        id=best.id,
        metric=metric.name,
        value=value,
        unit=metric.unit,
        source=best.source,
        kind=kind,
        # Of class `kernel` are the points that are of another size.
        at="" if kind is not Nearness.KERNEL and same_size(best.subject, subject) else _sizes(best.subject),
        reaches=kind is not Nearness.KERNEL or _reaches(best, subject),
    )


def _reaches(point: Known, subject: Subject) -> bool:
    """Whether a rate of the point's size bounds one of the asked size: on as many ranks (within a factor of
    2), and no axis of the work smaller than half of what is asked. A rate grows with the work, as long as
    starts are spread over more of it: what is measured of a small size bounds nothing of a large one.
    """
    mine, asked = point.subject.sizes, subject.sizes
    if mine.keys() != asked.keys():
        return False
    return all(
        mine[axis] >= asked[axis] / 2 and (axis not in RANKS or mine[axis] <= asked[axis] * 2)
        for axis in asked
    )


def _sizes(of: Subject) -> str:
    """Size and ranks of a point in words."""
    sizes = dict(of.sizes)
    words = []
    if "bytes" in sizes:
        words.append(show(sizes.pop("bytes"), "B"))
    nodes = sizes.pop("nodes", 1.0)
    words += [
        f"{value:,.0f} {axis}" if axis in RANKS else f"{axis} {value:,.10g}" for axis, value in sizes.items()
    ]
    return ", ".join(words) + (f" of {nodes:,.0f} instances" if nodes > 1 else "")


_METRICS = {
    Quantity.LATENCY: "latency_s",
    Quantity.FLOPS: "flops_per_s",
    Quantity.BUSBW: "busbw_bytes_per_s",
}


def value_of(point: Known, metric: Metric, case: Case | None = None) -> float | None:
    """What a published point says in the unit of the metric, None where it says something else."""
    if metric.name == _METRICS.get(point.quantity):
        return point.value
    if point.quantity is Quantity.LATENCY:
        return _rate(point, metric, case)
    streamed = point.quantity is Quantity.BANDWIDTH and point.subject.group not in LINKS
    return point.value if streamed and metric.unit == "B/s" else None


def _alike(point: Known, subject: Subject, metric: Metric) -> bool:
    """Same operation, type and scope; of a rate any size, of a time the very same one."""
    if point.subject.group in LINKS:
        same = point.subject.program == subject.program
    else:
        same = point.subject.dtype == subject.dtype and point.subject.operation == subject.operation
        same = same and metric.scope is point.scope
    return same and (metric.name != "latency_s" or point.subject.sizes == subject.sizes)


def _rate(point: Known, metric: Metric, case: Case | None) -> float | None:
    """Work over time, of the published shape."""
    from trnbench.kernels.work import Extent, busbw_factor

    if point.subject.group in LINKS:
        if metric.name != "busbw_bytes_per_s":
            return None
        sizes = point.subject.sizes
        return float(busbw_factor(point.asked, int(sizes["ranks"]))) * sizes["bytes"] / point.value
    if case is None or case.kernel.published is None or not case.primary.count:
        return None
    shape = case.kernel.published.point(point.shape)
    if shape is None or metric.name != case.primary.name:
        return None
    counts = case.kernel.work({**shape, "dtype": case.key.dtype}, Extent(scope=Scope.CORE)).as_counts()
    amount = counts.get(case.primary.count, 0.0)
    return amount / point.value if amount else None


class Nearby:
    """`bands` by generation, or why they could not be read, with the `ranges` under which none is narrower;
    `changed` names systems whose facts or costs are the user's own; `unread` says why points could not be
    read. Small, and can be sent to other processes."""

    def __init__(
        self,
        evidence: Evidence,
        bands: Mapping[str, Bands | str],
        changed: Collection[str] = (),
        unread: str = "",
        ranges: Mapping[str, Ranges] = MappingProxyType({}),
    ) -> None:
        self.evidence, self.bands, self.ranges = evidence, dict(bands), dict(ranges)
        self.changed, self.unread = frozenset(changed), unread
        self._classes: dict[object, tuple[Nearness, tuple[Known, ...]]] = {}

    def measurement(self, measurement: Measurement, case: Case, system: System) -> Measurement:
        """The measurement with its nearest evidence, where it is emulated and has a time."""
        evidence = measurement.evidence
        metric = measurement.metrics.get(measurement.primary)
        if evidence.grade is not Grade.EMULATED or measurement.time_s is None or metric is None:
            return measurement
        try:
            nearest = self.of(
                of_case(case, system), version=evidence.version, system=system.name, metric=metric, case=case
            )
        except Exception as error:  # a plugin's words for its kernel: they cost their cases the evidence
            why = f"kernel {case.key.kernel} could not say what is published of it"
            nearest = Nearest(kind=Nearness.NONE, note=f"{why}: {type(error).__name__}: {error}")
        remark = above(metric.value, metric, nearest.best)
        note = "; ".join(filter(None, (evidence.note, remark)))
        return replace(measurement, evidence=replace(evidence, nearest=nearest, note=note))

    def of(
        self,
        subject: Subject,
        *,
        version: str,
        system: str = "",
        metric: Metric | None = None,
        case: Case | None = None,
    ) -> Nearest:
        """The nearest evidence of one result of model `version`, and the best published in `metric`."""
        if self.unread:
            return Nearest(kind=Nearness.NONE, note=self.unread)
        kind, points = self._class(subject)
        band, note = self._band(subject, kind, version)
        if band is not None:
            band = over(band, self._ends(subject.generation, points[0].id, case))
            note = SHIPPED if system in self.changed else note
        limit = self.evidence.limit(subject)
        return Nearest(
            kind=kind,
            limit=Limit(id=limit.id, time_s=limit.value) if limit is not None else None,
            points=tuple(point.id for point in points[:NAMED]),
            band=band,
            best=best_of(points, kind, subject, metric, case) if metric is not None and kind.banded else None,
            note=note,
        )

    def _ends(self, generation: str, nearest: str, case: Case | None) -> Ends | None:
        """What assumptions do to the kernel of the case, or to the nearest point."""
        ranges = self.ranges.get(generation, Ranges())
        names = (title(case.key), case.key.kernel) if case is not None else ()
        of_kernel = next((ends for name in names if (ends := ranges.kernels.get(name)) is not None), None)
        return of_kernel or ranges.points.get(nearest)

    def _class(self, subject: Subject) -> tuple[Nearness, tuple[Known, ...]]:
        of = subject
        key = (of.generation, of.group, of.program, of.operation, of.dtype, *of.sizes.items())
        if key not in self._classes:
            self._classes[key] = self.evidence.classify(subject)
        return self._classes[key]

    def _band(self, subject: Subject, kind: Nearness, version: str) -> tuple[Band | None, str]:
        """The band, or why there is none."""
        generation, group = subject.generation, subject.group
        if kind is Nearness.NONE:
            if group == ULTRASERVER:
                return None, "no measurement of the links between instances of an UltraServer is published"
            return None, f"nothing of {_family(group)} is published"
        if kind is Nearness.ELSEWHERE:
            return None, f"nothing of {_family(group)} is published of {generation}"
        bands = self.bands.get(generation)
        if bands is None or isinstance(bands, str):
            return None, bands or f"no bands are shipped for {generation}"
        if bands.version != version:
            return None, f"bands are of model {bands.version}, this number is of {version} ({RENEW})"
        found = bands.groups.get(group, {}).get(kind)
        if found is None:
            return None, "no published point of this family could be emulated"
        return found, ""


def _family(group: str) -> str:
    return "a collective in a graph" if group == GRAPH else "this family"


def nearby(
    registry: Registry, systems: Mapping[str, System] | None = None, cases: Iterable[Case] = ()
) -> Nearby:
    """What `registry` has of points and bands. A file that cannot be read costs bands, never a run.

    Where `cases` are named, points of other generations than theirs are read only if one of them needs those.
    """
    systems = systems or {}
    generations = {system.generation.name for system in systems.values()}
    edited = {name for name in generations if _edited(registry, name)}
    changed = [
        name
        for name, system in systems.items()
        if system.generation.name in edited or not _shipped(registry, system)
    ]
    try:
        evidence = _evidence_for(registry, systems, tuple(cases))
    except (TrnbenchError, OSError) as error:
        why = error.what if isinstance(error, TrnbenchError) else str(error)
        return Nearby(Evidence(()), {}, unread=f"published points could not be read: {why}")
    bands, ranges = shipped_of(registry, shipped_bands, shipped_ranges)
    return Nearby(evidence, bands, changed, ranges=ranges)


def shipped_of(
    registry: Registry,
    bands_of: Callable[[Generation], Bands | None],
    ranges_of: Callable[[Generation], Ranges],
) -> tuple[dict[str, Bands | str], dict[str, Ranges]]:
    """What generations ship: bands, or why they cannot be read, and ranges."""
    bands: dict[str, Bands | str] = {}
    ranges: dict[str, Ranges] = {}
    for name, generation in registry.generations.items():
        try:
            own, ranges[name] = bands_of(generation), ranges_of(generation)
        except BadInput as error:
            bands[name] = f"{error.what}. {error.cause}"
        else:
            if own is not None:
                bands[name] = own
    return bands, ranges


def _evidence_for(registry: Registry, systems: Mapping[str, System], cases: Sequence[Case]) -> Evidence:
    """Other generations are evidence of class *elsewhere*: for a family without a point on its own alone."""
    own = evidence_of(registry, {systems[case.key.instance].generation.name for case in cases})
    for case in cases:
        try:
            subject = of_case(case, systems[case.key.instance])
        except Exception:  # `Nearby.measurement` says so
            continue
        if not own.of_group(subject.generation, subject.group):
            return evidence_of(registry)
    return own


def evidence_of(registry: Registry, generations: Collection[str] = ()) -> Evidence:
    """All points of the installed generations, or those named, that are evidence of a time. Raises what
    `published_points` does."""
    from trnbench_fidelity.published_points import published_points

    found = published_points(registry, generations).values()
    every = [point for points in found for point in points]
    limits = [each for point in every if (each := known(point, Kind.UPPER_BOUND)) is not None]
    return Evidence(
        (each for point in every if (each := known(point)) is not None),
        (limit for limit in limits if limit.subject.group == GRAPH),
    )


def made(registry: Registry, fidelity: Fidelity) -> dict[str, Bands]:
    """Generation → its bands after a comparison that has just been made: every point that can be emulated
    as stated, and what the plugins keep of public kernels.

    Raises `BadInput` where public kernels were run by another model.
    """
    return bands_of_points(evidence_of(registry), errors(fidelity), fidelity.version)


def _edited(registry: Registry, generation: str) -> bool:
    """Whether its files of facts, costs or points say something else than when its answers were made."""
    from trnbench_fidelity.bench import lineage

    try:
        answers = answers_of(registry.generations[generation]) if generation in registry.generations else None
    except BadInput:
        return False
    return answers is not None and bool(changed_files(answers.files, files_of(lineage(registry, generation))))


def _shipped(registry: Registry, system: System) -> bool:
    """Whether facts and costs of the system are those of its generation."""
    name = system.generation.name
    if name not in registry.generations:
        return False
    book, costs = registry.book(name), registry.costs(name)
    return (system.book is book or system.book == book) and (system.costs is costs or system.costs == costs)
