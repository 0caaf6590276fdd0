"""The cases of one run under way: here, in processes of this machine, or on the machines of an executor."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING

from trnbench.backend import Reproducible
from trnbench.errors import ExitCode, UsageError
from trnbench.isolation.interrupt import Interruption
from trnbench.kernels.kernel import Case
from trnbench.results.measurement import BAD, Measurement
from trnbench.run.attempt import MOST, Attempts, Outcome, Retries, Rounds, Task
from trnbench.run.executor import CasePool, CutShort, Executor
from trnbench.run.identity import scrub
from trnbench.run.progress import Outcomes, Step
from trnbench.run.reply import unwrapped
from trnbench.run.selection import RunSettings
from trnbench.store.entry import Entry
from trnbench.store.journal import JournalFull

if TYPE_CHECKING:
    from trnbench.run.plan import Plan
    from trnbench.run.pool import Pool
    from trnbench.store.recording import Recording

WORTH = 500
"""Cases of a run from which a second process is worth its start and the results that it sends back."""

MOST_JOBS = 4
"""Where nothing is said: more processes record the same kernels again and again."""


def usual_jobs(cases: int) -> int:
    """As many processes as there are processors for them, where `cases` are enough to do."""
    return min(processors(), MOST_JOBS, cases // WORTH + 1)


def processors() -> int:
    """Those that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


class Conduct:
    """Carries out every case and keeps what comes of it; what ended it early is in `interrupted`, `cut` and
    `notes`. `apart`: one case at a time, each in processes of its own. `done`: where all goes that cases come
    to, and is already; `begun`: rounds of cases that have not all of theirs."""

    def __init__(
        self,
        plan: Plan,
        attempts: Attempts,
        settings: RunSettings,
        recording: Recording | None,
        on_progress: Callable[[Step], None] | None,
        interruption: Interruption,
        executor: Executor | None,
        *,
        apart: bool,
        done: Outcomes,
        begun: Mapping[int, Mapping[int, Measurement]],
    ) -> None:
        self._plan, self._attempts, self._settings = plan, attempts, settings
        self._recording, self._on_progress, self._interruption = recording, on_progress, interruption
        self._executor, self._apart = executor, apart
        self._done = done
        rounds = settings.processes if apart else 1
        # Several ranks know their tasks beforehand (for_ranks); their run cannot be resumed, so what is lost
        # of it must be little.
        self._by_case = executor is not None and executor.by_case
        self._rounds = Rounds(attempts, rounds, begun, most=1 if self._by_case else MOST * rounds)
        self._tasks: tuple[Task, ...] = ()
        self._cases: tuple[Case, ...] = ()
        self._work = self._worked = 0
        self._pool: CasePool | Pool | None = None
        self._delivered: list[Outcome] = []
        self.interrupted = False
        self.cut: CutShort | None = None
        self.notes: list[str] = []

    def carry_out(self) -> None:
        undecided = 0
        try:
            why = self._ended_by()
            if why:
                before = len(self._done)
                self._end(self._left())  # what would have had more processes has a result all the same
                undecided = len(self._done) - before
        except (CutShort, JournalFull) as error:  # also while what an interruption left is kept
            self.cut = error if isinstance(error, CutShort) else self._full(error)
            why = self.cut.what
        if why:
            self._stopped(why, undecided)

    def _ended_by(self) -> str:
        """Carries out what is to be done, and then what that leaves open; why it ended early, or "".

        Raises `CutShort` and `JournalFull` where nothing more can be carried out or kept."""
        bad = 0
        try:
            while self._next():
                outcomes = self._outcomes()
                try:
                    for index, entry in outcomes:
                        ended = self._taken(self._tasks[index], entry)
                        bad += ended is not None and ended.status in BAD
                        if 0 < self._settings.maxfail <= bad:
                            return f"stopped after {bad} failed or suspect cases (--maxfail)"
                        self._interruption.check()
                finally:
                    outcomes.close()
                if not self._worked:
                    break
        except KeyboardInterrupt:
            self.interrupted = True
            for index, entry in self._delivered:
                self._taken(self._tasks[index], entry)
            return "interrupted"
        return ""

    def _left(self) -> list[int]:
        return [at for at in range(len(self._plan.cases)) if at not in self._done]

    def _next(self) -> bool:
        """Whether there is more to do; a case of which an earlier attempt has all processes is ended."""
        cases, left = self._plan.cases, self._left()
        self._tasks = self._rounds.left(cases, left, by_case=self._by_case)
        self._cases = tuple(cases[task.position] for task in self._tasks)
        self._work, self._worked = len(self._tasks), 0
        self._end(sorted({*left}.difference(task.position for task in self._tasks)))
        return bool(self._tasks)

    def _end(self, positions: Iterable[int]) -> None:
        """These get no more processes: they are what those say that have been."""
        for position in positions:
            whole = self._rounds.ended(self._plan.cases[position], position)
            if whole is not None:
                self._keep(position, whole)
                self._tell(whole, ended=True)

    @property
    def missing(self) -> int:
        """Cases that came to nothing."""
        return len(self._plan.cases) - len(self._done)

    def _taken(self, task: Task, entry: Entry) -> Entry | None:
        """Keeps what a process came to; what its case came to where that has ended with it."""
        if task.position in self._done:  # a round that had begun when another one failed
            return None
        self._worked += 1
        whole = self._rounds.take(self._plan.cases[task.position], task, entry)
        if whole is not None:
            self._keep(task.position, whole)
            if self._rounds.rounds > 1:
                self._drop_rounds(task)
        elif self._recording is not None:
            self._recording.add_round(task.position, task.round, entry)
        self._tell(entry if whole is None else whole, ended=whole is not None)
        return whole

    def _keep(self, position: int, entry: Entry) -> None:
        if self._recording is not None:
            self._recording.add(position, entry)
        self._done.add(position, entry)

    def _drop_rounds(self, task: Task) -> None:
        """What is left of a case that has ended before its last round."""
        later = {
            at
            for at, each in enumerate(self._tasks)
            if each.position == task.position and each.round > task.round
        }
        if later and self._pool is not None:
            self._pool.leave_out(later)
        self._worked += len(later)

    def _tell(self, entry: Entry, *, ended: bool) -> None:
        if self._on_progress is not None:
            total = len(self._plan.cases)
            share = 1.0 - (self._work - self._worked) / total / self._rounds.rounds
            self._on_progress(Step(done=len(self._done), total=total, entry=entry, ended=ended, share=share))

    def _stopped(self, why: str, undecided: int) -> None:
        if undecided:
            self.notes.append(f"{why}: {undecided} cases would have had more processes")
        if self.missing:
            begun = self._rounds.begun
            some = f", {begun} of them have been measured in some of their processes" if begun else ""
            self.notes.append(f"{why}: {self.missing} of {len(self._plan.cases)} cases were not run{some}")

    def _outcomes(self) -> Generator[Outcome]:
        if self._executor is None:
            yield from self._known()
        if self._cases:
            yield from self._tried()

    def _known(self) -> Generator[Outcome]:
        """Those that need not be tried, first: they are no work for another process."""
        unknown: list[int] = []
        with self._attempts.looking_up():
            for index, case in enumerate(self._cases):
                with self._interruption.allowed():
                    outcome = self._attempts.known(case)
                if outcome is None:
                    unknown.append(index)
                else:
                    yield index, Entry(*outcome)
        self._tasks = tuple(self._tasks[index] for index in unknown)
        self._cases = tuple(self._cases[index] for index in unknown)

    def _tried(self) -> Generator[Outcome]:
        if self._executor is not None:
            return self._elsewhere(self._executor)
        if self._apart:
            # One at a time: two that run at once measure each other.
            return self._pooled(1)
        jobs = self._settings.jobs or usual_jobs(sum(not case.skip for case in self._cases))
        if isinstance(unwrapped(self._attempts.backend), Reproducible):  # computes, and waits for nothing
            jobs = min(jobs, processors())
        # An alarm reaches neither native code nor what a case has started: a process can be ended from here.
        isolated = self._settings.isolate or self._settings.timeout_s > 0.0 or jobs > 1
        return self._pooled(jobs) if isolated else self._here()

    def _here(self) -> Generator[Outcome]:
        retries = Retries(self._settings.retries)
        for position, case in enumerate(self._cases):
            if self._tasks[position].position in self._done:
                continue
            while True:
                entry = Entry(*self._attempts(case, self._interruption.allowed))
                if not retries.again(position, entry):
                    break
            yield position, retries.told(position, entry)

    def _elsewhere(self, executor: Executor) -> Generator[Outcome]:
        try:
            pool = self._pool = executor.pool(
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
        from trnbench.run.pool import Pool

        try:
            pool = self._pool = Pool(
                self._attempts, self._cases, jobs, apart=self._apart, retries=self._settings.retries
            )
        except ValueError as error:
            self.notes.append(
                f"run in one process: a kernel or backend cannot be sent to another ({scrub(str(error))})"
            )
            return self._here()
        self._delivered = pool.delivered
        return pool.outcomes(self._interruption.allowed)

    def _full(self, error: JournalFull) -> CutShort:
        assert self._recording is not None  # whose journal it is
        run, kept, planned = self._recording.run_id, len(self._done), len(self._plan.cases)
        return CutShort(
            f"run {run} was stopped, {kept} of {planned} cases are kept: {error.what}",
            cause=error.cause,
            try_=f"make room there, then: trnbench resume {run}",
            code=ExitCode.USAGE,
        )
