"""What a run needs before its first case: the tuned backend, its limits, and the peaks that it measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from trnbench.backend import Backend, Calibrating, Calibration
from trnbench.facts.fact import FactBook, Provenance
from trnbench.isolation.interrupt import from_outside
from trnbench.isolation.output import aside
from trnbench.results.measurement import Grade
from trnbench.results.run import Run
from trnbench.run.attempt import Attempts
from trnbench.run.cached_backend import cached_backend
from trnbench.run.expectation import expectations
from trnbench.run.judge import Judge
from trnbench.run.reply import detected, unwrapped
from trnbench.run.selection import RunSettings
from trnbench.store.cache import Cache

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.run.plan import Plan

MEASURED_LIMIT_S = 300.0
"""For one measured case, where --timeout says nothing: a device that hangs must not hold up a night's run."""


def prepared(
    plan: Plan, backend: Backend, settings: RunSettings, registry: Registry, cache: Cache | None = None
) -> Attempts:
    """What tries a case: the backend as these settings tune it, its grade and its limits, and, of emulated
    ones, what is published."""
    grade = Grade.MEASURED if detected(backend).instance else Grade.EMULATED
    tuned = getattr(backend, "tuned", None)
    if settings.sample_s > 0.0 and tuned is not None:
        backend = tuned(settings.sample_s)
    return Attempts(
        cached_backend(backend, cache, settings.seed),
        plan.systems,
        Judge(settings.policy, processes=settings.processes),
        grade=grade,
        timeout_s=settings.timeout_s or (MEASURED_LIMIT_S if grade is Grade.MEASURED else 0.0),
        seed=settings.seed,
        keep_identity=settings.keep_identity,
        expected=expectations(registry, plan.systems, plan.cases, cache) if grade is Grade.EMULATED else None,
    )


def calibrated(plan: Plan, backend: Backend) -> Plan:
    """The plan with what `backend` measured of its systems, and with notes where it could not."""
    inner = unwrapped(backend)
    if not isinstance(inner, Calibrating):
        return plan
    wanted = {case.key.instance for case in plan.cases if not case.skip}
    books, notes = {}, list(plan.notes)
    for name, system in plan.systems.items():
        if name not in wanted:
            continue
        try:
            with aside():
                calibration = inner.calibrated(system)
            if not isinstance(calibration, Calibration):
                raise TypeError(f"calibrated() returned {type(calibration).__name__}, not a Calibration")
        except BaseException as error:  # cases can be measured without a peak
            if from_outside(error):
                raise
            calibration = Calibration(
                notes=(f"backend {backend.name} could not measure peaks: {type(error).__name__}: {error}",)
            )
        books[name] = calibration.book
        notes += calibration.notes
    return replace(_with(plan, books), notes=tuple(dict.fromkeys(notes)))


def recalled(plan: Plan, run: Run) -> Plan:
    """The plan with what was measured of its systems when `run` began: its cases are all judged alike."""
    books = {}
    for name, system in plan.systems.items():
        before = run.books.get(system.generation.name, FactBook())
        facts = tuple(fact for fact in before.facts if fact.provenance is Provenance.MEASURED)
        sources = {fact.source: before.sources[fact.source] for fact in facts}
        books[name] = FactBook(sources=sources, facts=facts)
    return _with(plan, books)


def _with(plan: Plan, books: Mapping[str, FactBook]) -> Plan:
    """`books` on top of those of the systems: a run keeps one book for each generation."""
    measured: dict[str, FactBook] = {}
    for name, book in books.items():
        if book.facts:
            generation = plan.systems[name].generation.name
            measured[generation] = measured.get(generation, FactBook()).merged(book)
    if not measured:
        return plan
    systems = {
        name: replace(system, book=system.book.merged(measured[system.generation.name]))
        if system.generation.name in measured
        else system
        for name, system in plan.systems.items()
    }
    return replace(plan, systems=systems)
