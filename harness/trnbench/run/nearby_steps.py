"""The nearest published step beside each emulated one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from trnbench.fidelity.workloads.nearness import nearby_steps, nearest_step
from trnbench.results.evidence import Grade
from trnbench.workloads.asked import Asked

if TYPE_CHECKING:
    from trnbench.fidelity.nearness.nearby import Nearby
    from trnbench.generation import System
    from trnbench.kernels.case import Case
    from trnbench.registry import Registry
    from trnbench.results.measurement import Measurement


class NearbySteps:
    """As `Nearby`, for the cases of models' steps; small, and can be sent to other processes."""

    def __init__(self, nearby: Nearby) -> None:
        self.nearby = nearby

    @classmethod
    def of(cls, registry: Registry) -> NearbySteps:
        return cls(nearby_steps(registry))

    def measurement(self, measurement: Measurement, case: Case, system: System) -> Measurement:
        """The measurement with its nearest evidence, where it is emulated and has a time."""
        evidence, asked = measurement.evidence, case.kernel.subject
        if evidence.grade is not Grade.EMULATED or measurement.time_s is None:
            return measurement
        assert isinstance(asked, Asked)
        nearest = nearest_step(asked.at(case.key.point), system, self.nearby, evidence.version)
        return msgspec.structs.replace(
            measurement, evidence=msgspec.structs.replace(evidence, nearest=nearest)
        )
