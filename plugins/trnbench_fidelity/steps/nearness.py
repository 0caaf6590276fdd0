"""The nearest published step to one of ours, and the band that its class has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from trnbench import Case, Grade, Measurement, Nearest, Nearness, Scope, System, TrnbenchError
from trnbench.bounded import TABLE, read_file
from trnbench.digest import digest_of, packages_digest
from trnbench.record import Record
from trnbench_fidelity.bench import remembered
from trnbench_fidelity.nearness import Nearby, shipped_of
from trnbench_fidelity.nearness.bands import Bands, Ranges
from trnbench_fidelity.nearness.evidence import Evidence, Known, Subject
from trnbench_fidelity.point import Quantity
from trnbench_fidelity.steps.compose import class_of, composed, kind_of, shape_of
from trnbench_steps.division import Division
from trnbench_steps.hbm import logical_cores
from trnbench_steps.job import Task

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.store.cache import Cache


GROUP, ULTRASERVER = "step", "step across an UltraServer"


def subject_of(division: Division, system: System) -> Subject:
    """What a step is, in the words of evidence: its model is the kernel, task and kind the operation.

    Messages between the instances of an UltraServer are of a group of their own: nobody has published any.
    Sizes are sequences, tokens of each that attention spans, and ranks.
    """
    job, model = division.job, division.model
    group = f"{ULTRASERVER}, {job.task}" if _crosses(division, system) else f"{GROUP}, {job.task}"
    tokens = job.kv if job.task is Task.DECODE else job.sequence
    return Subject(
        generation=system.generation.name,
        group=group,
        program=shape_of(model),
        operation=kind_of(model),
        sizes={"batch": float(job.batch), "tokens": float(tokens), "ranks": float(division.layout.ranks)},
    )


def _crosses(division: Division, system: System) -> bool:
    """Whether ranks that send to each other lie on several instances of an UltraServer."""
    if system.instance.scope is not Scope.ULTRASERVER:
        return False
    layout = division.layout
    cores, _ = logical_cores(system, layout.lnc)
    each = cores // system.hosts
    together = layout.ranks if division.job.task is Task.TRAIN else layout.tp * layout.cp * layout.pp
    return together > each or bool(each % layout.tp)


def known_steps(registry: Registry) -> list[Known]:
    """All usable published steps as evidence. Raises what `published_steps` raises."""
    from trnbench_fidelity.steps.load import published_steps

    published = []
    for steps in published_steps(registry).values():
        for point in steps.points:
            if not point.usable:
                continue
            step = composed(point, registry)
            subject = subject_of(step.division, step.system)
            published.append(
                Known(
                    id=point.id,
                    subject=subject,
                    vote=step.vote,
                    quantity=Quantity.LATENCY,
                    value=point.time_s,
                    shape={},
                    asked=class_of(point.task, step.division.model),
                    scope=Scope.INSTANCE,
                    source=point.source,
                )
            )
    return published


def nearby_steps(registry: Registry, cache: Cache | None = None) -> Nearby:
    """What `registry` has of published steps and their bands, worked out once for a `cache`.

    A file that cannot be read costs bands.
    """
    try:
        kept = remembered(cache, lambda: _key(registry), _Kept, lambda: _kept(registry))
    except (TrnbenchError, OSError) as error:
        why = error.what if isinstance(error, TrnbenchError) else str(error)
        return Nearby(Evidence(()), {}, unread=f"published steps could not be read: {why}")
    return Nearby(Evidence(kept.points), kept.bands, ranges=kept.ranges)


def _kept(registry: Registry) -> _Kept:
    from trnbench_fidelity.steps.archive import shipped_step_bands, shipped_step_ranges

    bands, ranges = shipped_of(registry, shipped_step_bands, shipped_step_ranges)
    return _Kept(points=tuple(known_steps(registry)), bands=bands, ranges=ranges)


def nearest_step(division: Division, system: System, nearby: Nearby, version: str) -> Nearest:
    """The class of the nearest published step, and the band that its class has by version `version` of the
    model; `Nearness.NONE` where nothing of its task is published."""
    nearest = nearby.of(subject_of(division, system), version=version, system=system.name)
    if nearest.kind in (Nearness.NONE, Nearness.ELSEWHERE):
        where = "" if nearest.kind is Nearness.NONE else f" on {system.generation.title}"
        where = " across the instances of an UltraServer" if _crosses(division, system) else where
        return Nearest(
            kind=nearest.kind,
            points=nearest.points,
            note=f"no step of this task is published{where}: none of its numbers has a band",
        )
    return nearest


class _Kept(Record):
    """Evidence and bands, as a cache has them."""

    points: tuple[Known, ...]
    bands: dict[str, Bands | str]
    ranges: dict[str, Ranges]


def _key(registry: Registry) -> bytes:
    """Everything that published steps are read with: their files, facts, and the code that reads them."""
    files = [
        path
        for generation in registry.generations.values()
        for path in (generation.steps_file, generation.answers, *generation.facts)
        if path is not None and path.is_file()
    ]
    code = packages_digest(("trnbench_fidelity", "trnbench_steps"))
    return digest_of("published steps", code, *(read_file(file, most=TABLE) for file in files))


def step_measurement(nearby: Nearby, measurement: Measurement, case: Case, system: System) -> Measurement:
    """The measurement with its nearest evidence, where it is emulated and has a time."""
    evidence = measurement.evidence
    if evidence.grade is not Grade.EMULATED or measurement.time_s is None:
        return measurement
    from trnbench_steps.step_request import requested

    division = requested(case).at(case.key.point)
    nearest = nearest_step(division, system, nearby, evidence.version)
    return replace(measurement, evidence=replace(evidence, nearest=nearest))
