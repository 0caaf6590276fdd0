"""Peaks that a backend measures of its machine where no document has them: once, before the first case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from trnbench.backend import Backend, Calibrating, Calibration
from trnbench.facts.book import FactBook
from trnbench.facts.fact import Provenance
from trnbench.isolation.interrupt import from_outside
from trnbench.isolation.output import aside
from trnbench.results.run import Run
from trnbench.run.remembering.backend import Remembering

if TYPE_CHECKING:
    from trnbench.run.plan import Plan


def calibrated(plan: Plan, backend: Backend) -> Plan:
    """The plan with what `backend` measured of its systems, and with notes where it could not."""
    inner = backend.backend if isinstance(backend, Remembering) else backend
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
    return msgspec.structs.replace(_with(plan, books), notes=tuple(dict.fromkeys(notes)))


def recalled(plan: Plan, run: Run) -> Plan:
    """The plan with what was measured of its systems when `run` began: its cases are all judged alike."""
    books = {}
    for name, system in plan.systems.items():
        before = run.books.get(system.generation.name, FactBook())
        facts = tuple(each for each in before.facts if each.provenance is Provenance.MEASURED)
        sources = {each.source: before.sources[each.source] for each in facts}
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
        name: msgspec.structs.replace(system, book=system.book.merged(measured[system.generation.name]))
        if system.generation.name in measured
        else system
        for name, system in plan.systems.items()
    }
    return msgspec.structs.replace(plan, systems=systems)
