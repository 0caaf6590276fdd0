"""Carries out a plan: every case tried, judged and kept, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

import msgspec

from trnbench.backend import Backend
from trnbench.errors import StoreError
from trnbench.fidelity.nearness.nearby import nearby
from trnbench.results.evidence import Grade
from trnbench.results.run import Run
from trnbench.run.attempt import Attempts
from trnbench.run.conduct import Conduct
from trnbench.run.cut import RunCutShort
from trnbench.run.environment import identity
from trnbench.run.garbage import seldom_collected
from trnbench.run.interruption import Interruption
from trnbench.run.judge import Judge
from trnbench.run.progress import Step
from trnbench.run.settings import RunSettings
from trnbench.run.snapshot import begin, now

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.run.executor import Executor
    from trnbench.run.plan import Plan
    from trnbench.store.store import Store

MEASURED_LIMIT_S = 300.0
"""For one measured case, where --timeout says nothing: a device that hangs must not hold up a night's run."""


class RunNotKept(StoreError):
    """The cases are done, but the store did not take all of them; `run` has them."""

    def __init__(self, run: Run, error: StoreError) -> None:
        self.run = run
        what = f"run {run.id} is not whole in the store: {error.what}"
        super().__init__(what, cause=error.cause, try_=error.try_)


def execute(
    plan: Plan,
    backend: Backend,
    registry: Registry,
    settings: RunSettings | None = None,
    on_progress: Callable[[Step], None] | None = None,
    *,
    store: Store | None = None,
    executor: Executor | None = None,
) -> Run:
    """The run of `plan`. Cases come out in the order of the plan, however many processes there were.

    With a `store`, each measurement is kept as soon as it is there. Ctrl-C (SIGTERM too) returns
    the run with what is done and `interrupted` set. Raises `UsageError` for settings that make no
    sense, `StoreError` when the store takes nothing before the first case, `RunNotKept` (with the
    run in it) when it did not take all at the end. With an `executor` the cases go to its machines;
    raises `RunCutShort` (with the run in it) when none of them is left.
    """
    settings = (settings or RunSettings()).checked()
    attempts = prepared(plan, backend, settings, registry)
    backend, grade = attempts.backend, attempts.unseen.grade
    searched = nullcontext() if grade is Grade.MEASURED else seldom_collected()
    with identity(kept=settings.keep_identity), Interruption() as interruption, searched:
        begun = begin(plan, backend, registry, settings, grade=grade)
        recording = (
            store.record(begun, planned=len(plan.cases), tags=settings.tags) if store is not None else None
        )
        conduct = Conduct(
            plan,
            attempts,
            settings,
            recording,
            on_progress,
            interruption,
            executor,
            apart=grade is Grade.MEASURED,
        )
        conduct.carry_out()
        run = msgspec.structs.replace(
            begun,
            finished=now(),
            measurements=conduct.measurements(),
            interrupted=conduct.interrupted,
            notes=(*begun.notes, *conduct.notes),
        )
        if recording is not None:
            try:
                recording.finish(run)
            except StoreError as error:
                raise RunNotKept(run, error) from error
    if conduct.cut is not None:
        raise RunCutShort(run, conduct.cut)
    return run


def prepared(plan: Plan, backend: Backend, settings: RunSettings, registry: Registry) -> Attempts:
    """What tries a case: the backend as these settings tune it, its grade and its limits, and, of emulated
    ones, what is published."""
    grade = Grade.MEASURED if backend.detect().instance else Grade.EMULATED
    tuned = getattr(backend, "tuned", None)
    if settings.sample_s > 0.0 and tuned is not None:
        backend = tuned(settings.sample_s)
    return Attempts(
        backend,
        plan.systems,
        Judge(settings.policy),
        grade=grade,
        timeout_s=settings.timeout_s or (MEASURED_LIMIT_S if grade is Grade.MEASURED else 0.0),
        seed=settings.seed,
        keep_identity=settings.keep_identity,
        nearby=nearby(registry, plan.systems) if grade is Grade.EMULATED else None,
    )
