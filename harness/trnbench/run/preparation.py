"""What a run needs before its first case: the backend as it is tuned, and what tries and judges a case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.backend import Backend
from trnbench.expectation import expectations
from trnbench.results.evidence import Grade
from trnbench.run.attempt import Attempts
from trnbench.run.judge import Judge
from trnbench.run.remembering.backend import remembering
from trnbench.run.returned import detected
from trnbench.run.settings import RunSettings

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.run.plan import Plan
    from trnbench.store.cache import Cache

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
        remembering(backend, cache, settings.seed),
        plan.systems,
        Judge(settings.policy, processes=settings.processes),
        grade=grade,
        timeout_s=settings.timeout_s or (MEASURED_LIMIT_S if grade is Grade.MEASURED else 0.0),
        seed=settings.seed,
        keep_identity=settings.keep_identity,
        expected=expectations(registry, plan.systems, plan.cases, cache) if grade is Grade.EMULATED else None,
    )
