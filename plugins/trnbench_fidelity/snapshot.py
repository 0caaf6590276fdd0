"""What this package gives a run: published evidence beside its numbers, and what its model got wrong.

The model's answers are those that are shipped with its generations; where they do not hold, it is asked anew.
Our own kernels of the same operation are no fidelity: `trnbench validate` has them. Of our own product alone
a run keeps what the model makes of each published shape, to be read beside its headline: the rows that are
shipped, or none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trnbench import Case, Fidelity, Measurement, Metric, Nearest, System, TrnbenchError
from trnbench.digest import digest_of
from trnbench.store.cache import Cache
from trnbench_emulator.backend import CollectiveQuestion, KernelQuestion
from trnbench_fidelity.bench import EMULATOR, inputs_digest, inputs_of, remembered
from trnbench_fidelity.nearness import Nearby, nearby
from trnbench_fidelity.nearness.evidence import Subject, of_case, of_collective, of_kernel
from trnbench_fidelity.point import FAMILIES, LINKED

if TYPE_CHECKING:
    from trnbench.registry import Registry


class Published:
    """As `trnbench.run.expectation.Expectations`.

    Points or steps are read with the first question about them; what a run's `cases` need of them at once, so
    that other processes need no registry.
    """

    def __init__(
        self,
        registry: Registry,
        systems: Mapping[str, System],
        cases: Sequence[Case] = (),
        cache: Cache | None = None,
    ) -> None:
        self._registry: Registry | None = registry
        self._systems, self._cache = dict(systems), cache
        self._points: Nearby | None = None
        self._steps: Nearby | None = None
        if plain := [case for case in cases if case.kernel.subject is None]:
            self._points = nearby(registry, systems, plain)
        if len(plain) < len(cases):
            _ = self.steps

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_registry": None, "_systems": {}, "_cache": None}

    @property
    def points(self) -> Nearby:
        """Of kernels on cores and messages on links."""
        if self._points is None:
            assert self._registry is not None
            self._points = nearby(self._registry, self._systems)
        return self._points

    @property
    def steps(self) -> Nearby:
        """Of models' steps."""
        if self._steps is None:
            from trnbench_fidelity.steps.nearness import nearby_steps

            assert self._registry is not None
            self._steps = nearby_steps(self._registry, self._cache)
        return self._steps

    def measurement(self, measurement: Measurement, case: Case, system: System) -> Measurement:
        """The measurement with its nearest evidence, where it is emulated and has a time."""
        if case.kernel.subject is None:
            return self.points.measurement(measurement, case, system)
        from trnbench_fidelity.steps.nearness import step_measurement

        return step_measurement(self.steps, measurement, case, system)

    def nearest(
        self, question: object, system: System, *, version: str, metric: Metric | None = None
    ) -> Nearest | None:
        """Of a case, a `KernelQuestion`, a `CollectiveQuestion`, or the `Division` of a step."""
        from trnbench.kernels.kernel import Case

        case = question if isinstance(question, Case) else None
        if isinstance(question, Case | KernelQuestion | CollectiveQuestion):
            subject = self._subject(question, system)
            return self.points.of(subject, version=version, system=system.name, metric=metric, case=case)
        from trnbench_fidelity.steps.nearness import nearest_step
        from trnbench_steps.division import Division

        if isinstance(question, Division):
            return nearest_step(question, system, self.steps, version)
        return None

    def _subject(self, question: Case | KernelQuestion | CollectiveQuestion, system: System) -> Subject:
        if isinstance(question, KernelQuestion):
            generation = system.generation.name
            points = self.points.evidence.of_group(generation, "core")
            return of_kernel(generation, question.source, question.dtype, points, question.operation)
        if isinstance(question, CollectiveQuestion):
            return of_collective(system, question)
        return of_case(question, system)


def cached_validation(
    registry: Registry,
    cache: Cache | None,
    *,
    families: Collection[str] = (),
    generations: Collection[str] = (),
    systems: Set[str] = frozenset(),
    with_same: bool = True,
    shipped: bool = False,
) -> Fidelity:
    """What `validate` gives for these arguments, from `cache` where it stands there.

    `shipped`: the model's answers are those that the generations ship, where they hold.

    Raises what `validate` raises.
    """
    brought = [name for name, each in registry.generations.items() if each.points_file is not None]

    def key() -> bytes:
        asked = (sorted(families), list(generations), sorted(systems), with_same, shipped)
        return digest_of("validate", inputs_digest(registry, list(generations) or brought), repr(asked))

    def made() -> Fidelity:
        from trnbench_fidelity.sources import shipped_comparisons
        from trnbench_fidelity.validate import validate

        return validate(
            registry,
            families=families,
            generations=generations,
            systems=systems,
            with_same=with_same,
            known=shipped_comparisons(registry, generations or brought) if shipped else {},
        )

    return remembered(cache, key, Fidelity, made)


_TIME_THEM = "Type: trnbench validate same --generation"
"""Times our own products anew; `.ci/renew answers` of a checkout ships them anew."""


def fidelity_of(
    registry: Registry,
    backend: str,
    generations: Collection[str],
    notes: list[str],
    *,
    linked: bool = True,
    multiplied: bool = False,
    cache: Cache | None = None,
) -> Fidelity | None:
    """None where the run's backend is not the emulator, or nothing is published of its generations.

    Without `linked` no kernel of the run uses links between devices, and the families that do are left out.
    `multiplied`: our own product is among them, and is set beside the published ones. `cache` keeps the
    answer for other processes.

    A file of points that cannot be read costs the run its fidelity, nothing else: `notes` say so.
    """
    brought = [name for name in generations if registry.generations[name].points_file is not None]
    if backend != EMULATOR or not brought:
        return None
    try:
        families = () if linked else tuple(name for name in FAMILIES if name not in LINKED)
        key = (inputs_of(registry, brought), families)
        if key not in _KNOWN:
            _KNOWN.clear()
            whole = cached_validation(
                registry, cache, generations=brought, families=families, with_same=False, shipped=True
            )
            # A run stores the statistics, and only points with a number from the model.
            answered = tuple(point for point in whole.points if point.emulated is not None)
            _KNOWN[key] = replace(whole, points=answered)
        fidelity = _KNOWN[key]
        if not multiplied:
            return fidelity
        from trnbench_fidelity.sources import shipped_products

        own = {name: shipped_products(registry, name) for name in brought}
        outdated = {name: f"{why}. {_TIME_THEM} {name}" for name, (_, why) in own.items() if why}
        notes.extend(
            f"our own products are not set beside published ones of {name}: out of date. {why}"
            for name, why in outdated.items()
        )
        products = tuple(row for rows, _ in own.values() for row in rows)
        return replace(fidelity, products=products, outdated=outdated)
    except (TrnbenchError, OSError) as error:
        why = error.what if isinstance(error, TrnbenchError) else str(error)
        notes.append(f"the model was not held against published points: {why}")
        return None


_KNOWN: dict[object, Fidelity] = {}
"""The last answer: many runs of one process ask the same of the same files."""
