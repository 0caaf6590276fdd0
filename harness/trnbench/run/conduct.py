"""The cases of one run under way: here, in processes of this machine, or on the machines of an executor."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING

from trnbench.errors import ExitCode, UsageError
from trnbench.results.digest import fingerprint
from trnbench.results.json import dumps_measurement
from trnbench.results.measurement import Measurement, Status
from trnbench.run.attempt import Attempts
from trnbench.run.cut import CutShort
from trnbench.run.identity import scrub
from trnbench.run.interruption import Interruption
from trnbench.run.outcome import Outcome
from trnbench.run.pool import Pool
from trnbench.run.progress import Step
from trnbench.run.retry import Retries
from trnbench.run.settings import RunSettings
from trnbench.store.journal import JournalFull

if TYPE_CHECKING:
    from trnbench.run.executor import Executor
    from trnbench.run.plan import Plan
    from trnbench.store.recording import Recording

WORTH = 500
"""Cases of a run from which a second process is worth its start and the results that it sends back."""

MOST_JOBS = 4
"""Where nothing is said: more processes record the same kernels again and again."""

_BAD = (Status.FAILED, Status.SUSPECT)


def usual_jobs(cases: int) -> int:
    """As many processes as there are processors for them, where `cases` are enough to do."""
    if cases < WORTH:
        return 1
    try:
        free = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        free = os.cpu_count() or 1
    return max(1, min(free, MOST_JOBS, cases // WORTH + 1))


class Conduct:
    """Carries out every case and keeps what comes of it; what ended it early is in `interrupted`, `cut` and
    `notes`. `apart`: one case at a time, each in a process of its own. `kept`: what is done already, by
    position in the plan, each with its JSON."""

    def __init__(
        self,
        plan: Plan,
        attempts: Attempts,
        settings: RunSettings,
        recording: Recording | None,
        on_progress: Callable[[Step], None] | None,
        interruption: Interruption,
        executor: Executor | None = None,
        *,
        apart: bool = False,
        kept: Mapping[int, tuple[Measurement, bytes]] = {},
    ) -> None:
        self._plan, self._attempts, self._settings = plan, attempts, settings
        self._recording, self._on_progress, self._interruption = recording, on_progress, interruption
        self._executor, self._apart = executor, apart
        self._done: dict[int, Measurement] = {at: measurement for at, (measurement, _) in kept.items()}
        self._fingerprints = {at: fingerprint(document) for at, (_, document) in kept.items()}
        self._left = [at for at in range(len(plan.cases)) if at not in kept]
        self._cases = plan.cases if not kept else tuple(plan.cases[at] for at in self._left)
        self.interrupted = False
        self.cut: CutShort | None = None
        self.notes: list[str] = []

    def carry_out(self) -> None:
        bad = 0
        outcomes = self._outcomes()
        try:
            for index, measurement, document in outcomes:
                self._keep(self._left[index], measurement, document)
                bad += measurement.status in _BAD
                if 0 < self._settings.maxfail <= bad:
                    self._stopped(f"stopped after {bad} failed or suspect cases (--maxfail)")
                    break
                self._interruption.check()
        except KeyboardInterrupt:
            self.interrupted = True
            self._stopped("interrupted")
        except CutShort as error:
            self.cut = error
            self._stopped(error.what)
        finally:
            outcomes.close()

    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(self._done[position] for position in sorted(self._done))

    def fingerprints(self) -> tuple[str, ...]:
        """The fingerprint of each measurement, in the order of `measurements`."""
        return tuple(self._fingerprints[position] for position in sorted(self._fingerprints))

    def _keep(self, position: int, measurement: Measurement, document: bytes) -> None:
        if self._recording is not None:
            try:
                self._recording.add(position, measurement, document)
            except JournalFull as error:
                raise _full(self._recording, len(self._done), len(self._plan.cases), error) from error
        self._done[position] = measurement
        self._fingerprints[position] = fingerprint(document)
        if self._on_progress is not None:
            total = len(self._plan.cases)
            self._on_progress(Step(done=len(self._done), total=total, measurement=measurement))

    def _stopped(self, why: str) -> None:
        left = len(self._plan.cases) - len(self._done)
        if left:
            self.notes.append(f"{why}: {left} of {len(self._plan.cases)} cases were not run")

    def _outcomes(self) -> Generator[Outcome]:
        if self._executor is None:
            yield from self._known()
        if self._cases:
            yield from self._tried()

    def _known(self) -> Generator[Outcome]:
        """Those that need not be tried, first: they are no work for another process."""
        unknown: list[int] = []
        for index, case in enumerate(self._cases):
            with self._interruption.allowed():
                outcome = self._attempts.known(case)
            if outcome is None:
                unknown.append(index)
            else:
                yield index, *outcome
        self._left = [self._left[index] for index in unknown]
        self._cases = tuple(self._cases[index] for index in unknown)

    def _tried(self) -> Generator[Outcome]:
        if self._executor is not None:
            return self._elsewhere(self._executor)
        if self._apart:
            # One at a time: two that run at once measure each other.
            return self._pooled(1)
        jobs = self._settings.jobs or usual_jobs(sum(not case.skip for case in self._cases))
        # An alarm reaches neither native code nor what a case has started: a process can be ended from here.
        isolated = self._settings.isolate or self._settings.timeout_s > 0.0 or jobs > 1
        return self._pooled(jobs) if isolated else self._here()

    def _here(self) -> Generator[Outcome]:
        retries = Retries(self._settings.retries)
        for position, case in enumerate(self._cases):
            while True:
                with self._interruption.allowed():
                    measurement, document = self._attempts(case)
                if not retries.again(position, measurement):
                    break
            told = retries.told(position, measurement)
            yield position, told, document if told is measurement else dumps_measurement(told)

    def _elsewhere(self, executor: Executor) -> Generator[Outcome]:
        try:
            pool = executor.pool(
                self._attempts,
                self._cases,
                jobs=self._settings.jobs,
                apart=self._apart,
                retries=self._settings.retries,
            )
        except ValueError as error:
            raise UsageError(
                "these cases cannot be sent to another machine",
                cause=scrub(str(error)),
                try_=f"leave out --executor {executor.name}",
            ) from None
        try:
            yield from pool.outcomes(self._interruption.allowed)
        finally:
            self.notes += pool.notes

    def _pooled(self, jobs: int) -> Generator[Outcome]:
        try:
            pool = Pool(
                self._attempts,
                self._cases,
                jobs,
                apart=self._apart,
                retries=self._settings.retries,
            )
        except ValueError as error:
            self.notes.append(
                f"run in one process: a kernel or backend cannot be sent to another ({scrub(str(error))})"
            )
            return self._here()
        return pool.outcomes(self._interruption.allowed)


def _full(recording: Recording, kept: int, planned: int, error: JournalFull) -> CutShort:
    return CutShort(
        f"run {recording.run_id} was stopped, {kept} of {planned} cases are kept: {error.what}",
        cause=error.cause,
        try_=f"make room there, then: trnbench resume {recording.run_id}",
        code=ExitCode.USAGE,
    )
