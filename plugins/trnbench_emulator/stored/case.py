"""An emulated case of a stored run, asked again from its key."""

from __future__ import annotations

from trnbench.errors import UnknownName, UsageError
from trnbench.generation import System
from trnbench.kernels.case import Case
from trnbench.registry import Registry
from trnbench.results.evidence import Grade
from trnbench.results.measurement import Measurement
from trnbench.run.plan import extent_of


def check_emulated(found: Measurement, cause: str) -> None:
    """Raises `UsageError` for a case that was not emulated, or has no time."""
    if found.evidence.grade is not Grade.EMULATED or found.time_s is None:
        raise UsageError(
            f"{found.id} was not emulated: it is {found.evidence.grade}, {found.status}",
            cause=cause,
            try_="trnbench runs show RUN --status ok",
        )


def case_again(found: Measurement, registry: Registry) -> tuple[Case, System]:
    """Raises `UnknownName` for a kernel or system that is not here any more."""
    key = found.case
    kernel = registry.kernels.get(key.kernel)
    if kernel is None:
        raise UnknownName("kernel", key.kernel, registry.kernels, try_="trnbench plugin list")
    system = registry.system(key.instance)
    return Case(key=key, kernel=kernel, extent=extent_of(kernel, system, key.scope, key.point)), system
