"""What published evidence says beside an emulated number: the nearest point, its band, the best published.

It comes from what plugins yield for `trnbench_expectations`; the core knows no published point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace

from trnbench.reference import resolve
from trnbench.results.measurement import Grade, Measurement, Metric, Nearest, Nearness

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.kernels.kernel import Case
    from trnbench.registry import Registry
    from trnbench.results.fidelity import Fidelity
    from trnbench.store.cache import Cache

UNKNOWN = "no plugin that is installed knows published measurements"


class Expectations(Protocol):
    """Evidence for the systems of one run. It is small, and can be sent to other processes."""

    def measurement(self, measurement: Measurement, case: Case, system: System) -> Measurement:
        """The measurement with its nearest evidence, where it is emulated and has a time."""

    def nearest(
        self, question: object, system: System, *, version: str, metric: Metric | None = None
    ) -> Nearest | None:
        """The nearest evidence of one result of model `version`, and the best published in `metric`.

        `question` is what the asker has: a case, or a struct of its own. None for one that this does not
        know."""


class _Several:
    """The answers of several sources: the first that has a band counts, else the first that knows the
    question."""

    def __init__(self, sources: Sequence[Expectations]) -> None:
        self.sources = tuple(sources)

    def measurement(self, measurement: Measurement, case: Case, system: System) -> Measurement:
        answers = [source.measurement(measurement, case, system) for source in self.sources]
        nearest = [(answer, answer.evidence.nearest) for answer in answers]
        banded = (answer for answer, near in nearest if near is not None and near.band is not None)
        answered = (answer for answer, near in nearest if near is not None)
        return next(banded, None) or next(answered, None) or _unknown(measurement)

    def nearest(
        self, question: object, system: System, *, version: str, metric: Metric | None = None
    ) -> Nearest:
        answers = [
            answer
            for source in self.sources
            if (answer := source.nearest(question, system, version=version, metric=metric)) is not None
        ]
        banded = (answer for answer in answers if answer.band is not None)
        return next(banded, None) or next(iter(answers), Nearest(kind=Nearness.NONE, note=UNKNOWN))


def _unknown(measurement: Measurement) -> Measurement:
    """An emulated time says that nobody here knows what is published of it."""
    evidence = measurement.evidence
    if evidence.grade is not Grade.EMULATED or measurement.time_s is None or evidence.nearest is not None:
        return measurement
    nearest = Nearest(kind=Nearness.NONE, note=UNKNOWN)
    return replace(measurement, evidence=replace(evidence, nearest=nearest))


def expectations(
    registry: Registry, systems: Mapping[str, System], cases: Sequence[Case] = (), cache: Cache | None = None
) -> _Several:
    """What all installed sources say of `systems`; of a run with its `cases` and its `cache`."""
    return _Several(
        [
            resolve(expectation.beside)(registry, systems, cases, cache)
            for expectation in registry.expectations.values()
        ]
    )


def fidelity_of(
    registry: Registry, backend: str, generations: Sequence[str], notes: list[str], **options: Any
) -> Fidelity | None:
    """What a model got wrong on published points, by the first source that knows the model of `backend`.

    `options` are `linked`, `multiplied` and `cache`, as `Expectation.fidelity` takes them; `notes` gain what
    is missing."""
    for expectation in registry.expectations.values():
        if expectation.fidelity:
            fidelity: Fidelity | None = resolve(expectation.fidelity)(
                registry, backend, generations, notes, **options
            )
            if fidelity is not None:
                return fidelity
    return None
