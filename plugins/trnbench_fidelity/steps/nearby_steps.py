"""The nearest published step beside each emulated one.

Each process that carries cases out imports this: what works steps out comes with the first that asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from trnbench.bounded.file import TABLE, read_file
from trnbench.digest import digest_of
from trnbench.results.measurement import Grade
from trnbench.store.source_digest import packages_digest
from trnbench_fidelity.nearness.bands import Bands
from trnbench_fidelity.nearness.evidence import Evidence, Known
from trnbench_fidelity.nearness.nearby import Nearby
from trnbench_fidelity.nearness.ranges import Ranges

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.kernels.kernel import Case
    from trnbench.registry import Registry
    from trnbench.results.measurement import Measurement
    from trnbench.store.cache import Cache


class _Kept(msgspec.Struct, frozen=True):
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


def _decoded(content: bytes | None) -> _Kept | None:
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=_Kept)
    except msgspec.MsgspecError:
        return None


class NearbySteps:
    """As `Nearby`, for the cases of models' steps; small, and can be sent to other processes."""

    def __init__(self, nearby: Nearby) -> None:
        self.nearby = nearby

    @classmethod
    def of(cls, registry: Registry, cache: Cache | None = None) -> NearbySteps:
        """Of what is published; which steps that is about is worked out once for a `cache`."""
        from trnbench_fidelity.steps.nearness import nearby_steps

        if cache is None:
            return cls(nearby_steps(registry))
        key = _key(registry)
        known = _decoded(cache.get(key))
        if known is None:
            found = nearby_steps(registry)
            if not found.unread:
                content = _Kept(points=found.evidence.points, bands=found.bands, ranges=found.ranges)
                cache.put(key, msgspec.json.encode(content))
            return cls(found)
        return cls(Nearby(Evidence(known.points), known.bands, ranges=known.ranges))

    def measurement(self, measurement: Measurement, case: Case, system: System) -> Measurement:
        """The measurement with its nearest evidence, where it is emulated and has a time."""
        evidence = measurement.evidence
        if evidence.grade is not Grade.EMULATED or measurement.time_s is None:
            return measurement
        from trnbench_fidelity.steps.nearness import nearest_step
        from trnbench_steps.step_request import requested

        division = requested(case).at(case.key.point)
        nearest = nearest_step(division, system, self.nearby, evidence.version)
        return msgspec.structs.replace(
            measurement, evidence=msgspec.structs.replace(evidence, nearest=nearest)
        )
