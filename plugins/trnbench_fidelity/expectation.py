"""The evidence that this package gives a run: published points of kernels and links, and published steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trnbench_emulator.kinds import CollectiveQuestion, KernelQuestion
from trnbench_fidelity.nearness.evidence import of_case, of_collective, of_kernel
from trnbench_fidelity.nearness.nearby import Nearby, nearby

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.kernels.kernel import Case
    from trnbench.registry import Registry
    from trnbench.results.measurement import Measurement, Metric
    from trnbench.results.nearness import Nearest
    from trnbench.store.cache import Cache
    from trnbench_fidelity.nearness.evidence import Subject
    from trnbench_fidelity.steps.nearby_steps import NearbySteps


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
        self._steps: NearbySteps | None = None
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
    def steps(self) -> NearbySteps:
        """Of models' steps."""
        if self._steps is None:
            from trnbench_fidelity.steps.nearby_steps import NearbySteps

            assert self._registry is not None
            self._steps = NearbySteps.of(self._registry, self._cache)
        return self._steps

    def measurement(self, measurement: Measurement, case: Case, system: System) -> Measurement:
        """The measurement with its nearest evidence, where it is emulated and has a time."""
        source = self.points if case.kernel.subject is None else self.steps
        return source.measurement(measurement, case, system)

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
            return nearest_step(question, system, self.steps.nearby, version)
        return None

    def _subject(self, question: Case | KernelQuestion | CollectiveQuestion, system: System) -> Subject:
        if isinstance(question, KernelQuestion):
            generation = system.generation.name
            points = self.points.evidence.of_group(generation, "core")
            return of_kernel(generation, question.source, question.dtype, points, question.operation)
        if isinstance(question, CollectiveQuestion):
            return of_collective(
                system,
                question.collective,
                size=question.size,
                ranks=question.ranks,
                cores_per_rank=question.cores_per_rank,
                nodes=question.nodes,
                context=question.context,
                point_to_point=question.point_to_point,
            )
        return of_case(question, system)
