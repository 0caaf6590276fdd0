"""Carries out a plan: every case tried, judged and kept, whatever happens on the way."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from trnbench.backend import Backend
from trnbench.isolation.interrupt import Interruption
from trnbench.results.json import sealed
from trnbench.results.measurement import Grade
from trnbench.results.run import Run
from trnbench.run.conduct import Conduct
from trnbench.run.executor import Executor, RunCutShort
from trnbench.run.identity import identity, scrub, scrub_path
from trnbench.run.preparation import calibrated, prepared
from trnbench.run.progress import Outcomes, Step
from trnbench.run.selection import RunSettings
from trnbench.run.snapshot import begin, now
from trnbench.run.sources import file_digests
from trnbench.store.cache import Cache
from trnbench.store.journal import JournalFull
from trnbench.store.layout import Attached, attached

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.run.plan import Plan
    from trnbench.run.resumption import Resumption
    from trnbench.store.recording import Recording
    from trnbench.store.store import Store


def execute(
    plan: Plan,
    backend: Backend,
    registry: Registry,
    settings: RunSettings | None = None,
    on_progress: Callable[[Step], None] | None = None,
    *,
    store: Store | None = None,
    cache: Cache | None = None,
    executor: Executor | None = None,
    resumed: Resumption | None = None,
    sample: int = 0,
    on_kept: Callable[[], None] = lambda: None,
) -> Run:
    """The run of `plan`. Cases come out in the order of the plan, however many processes there were.

    With a `store`, each measurement is kept as soon as it is there: in the run's journal, then in the
    store as it takes them (`store.behind` says where it does not for now). `cache` answers what it holds.
    Ctrl-C (SIGTERM and SIGHUP too) returns what is done, with `interrupted` set. An `executor` has machines
    for the cases. `resumed` is an earlier run of this plan to go on with. `sample`: of more than `MANY` cases
    in a store so many come back, chosen as `Store.load` does. `on_kept` is called before the first case.
    Raises `UsageError` for settings that make no sense, `StoreError` when nothing can be kept, `RunCutShort`
    (with the run in it) when its journal cannot grow or the executor has no machine left.
    """
    settings = (settings or RunSettings()).checked()
    cache = cache if executor is None else None  # another machine has its own
    plan = plan if resumed else calibrated(plan, backend)
    attempts = prepared(plan, backend, settings, registry, cache)
    grade = attempts.unseen.grade
    with identity(kept=settings.keep_identity), Interruption() as interruption:
        begun = resumed.begun if resumed else begin(plan, attempts.backend, registry, settings, grade, cache)
        parts = resumed.parts if resumed else attached(begun)
        recording = _recording(store, begun, parts, plan, settings, executor, resumed)
        on_kept()
        done = Outcomes(len(plan.cases), recording, sample, resumed.kept if resumed else {})
        conduct = Conduct(
            plan,
            attempts,
            settings,
            recording,
            on_progress,
            interruption,
            executor,
            apart=grade is Grade.MEASURED,
            done=done,
            begun=resumed.rounds if resumed else {},
        )
        conduct.carry_out()
        run = _ended(begun, conduct, done, parts)
        if recording is not None:
            with suppress(JournalFull):  # its cases are kept, and it is told below
                recording.finish(run, fold=True)
            recording.store.behind = recording.behind
        run = done.run(run)
    if cache is not None:
        cache.trim()
        cache.close()
    if conduct.cut is not None:
        raise RunCutShort(run, conduct.cut)
    return run


def _recording(
    store: Store | None,
    begun: Run,
    parts: tuple[Attached, ...],
    plan: Plan,
    settings: RunSettings,
    executor: Executor | None,
    resumed: Resumption | None,
) -> Recording | None:
    """The run's journal and its place in `store`: those that it had, where it is resumed."""
    if resumed is not None or store is None:
        return resumed.recording if resumed else None
    return store.record(
        begun,
        planned=len(plan.cases),
        parts=parts,
        tags=settings.tags,
        plan=plan.digest(),
        executor=executor.name if executor is not None else settings.executor,
        facts=tuple(_fact_file(path) for path in settings.facts),
        sources=file_digests(plan.sources()),
    )


def _ended(begun: Run, conduct: Conduct, done: Outcomes, parts: tuple[Attached, ...]) -> Run:
    """The run as it ended, with its digest and without its measurements."""
    run = replace(
        begun,
        finished=now(),
        interrupted=conduct.interrupted,
        missing=conduct.missing,
        notes=(*begun.notes, *map(scrub, conduct.notes)),
    )
    return sealed(run, (part.mark for part in parts), done.fingerprints())


def _fact_file(path: str) -> str:
    """Where `resume` looks for a fact file: of one below the home folder as little as it takes."""
    shortened = scrub_path(path)
    here = os.getcwd()
    if shortened != path and os.path.commonpath((here, path)) == here:
        return os.path.relpath(path, here)
    return scrub(shortened)
