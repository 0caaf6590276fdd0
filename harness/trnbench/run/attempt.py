"""One case tried once, or once in each of several processes: a measurement comes out of it, whatever happens.

What a backend returns is checked where it arrives; a lost case may be tried again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from trnbench.backend import Backend
from trnbench.digest import package_of
from trnbench.distribution import own_packages
from trnbench.errors import BadInput, TrnbenchError, debugging
from trnbench.generation import System
from trnbench.isolation.interrupt import CaseTimeout, Interrupted, from_outside, limited
from trnbench.isolation.output import aside
from trnbench.kernels.kernel import Case
from trnbench.record import grouped
from trnbench.results.json import dumps_measurement
from trnbench.results.measurement import Evidence, Grade, Measurement, Reason, Status
from trnbench.run.cached_backend import CachedBackend
from trnbench.run.expectation import Expectations
from trnbench.run.identity import identity, is_named, scrub, scrub_all, scrub_private
from trnbench.run.judge import Judge
from trnbench.run.reply import checked_observation, checked_refusal, unwrapped
from trnbench.store.entry import Entry

NEXT = "; try: "
"""In the text of a failed case: what comes behind it is what to type next."""


class Attempts:
    """Tries cases with one backend, and judges them by one policy; `expected` puts the nearest published
    evidence beside what is emulated."""

    def __init__(
        self,
        backend: Backend,
        systems: Mapping[str, System],
        judge: Judge,
        *,
        grade: Grade,
        timeout_s: float,
        seed: int,
        keep_identity: bool,
        expected: Expectations | None,
    ) -> None:
        self.backend, self.systems, self.judge = backend, systems, judge
        self.timeout_s, self.seed, self.keep_identity = timeout_s, seed, keep_identity
        self._expected = expected
        self.own_backend = package_of(type(unwrapped(backend))) in own_packages()
        # A real machine speaks: tools, drivers and log lines name it.
        self._named = grade is Grade.MEASURED
        self.unseen = Evidence(grade=grade, by=backend.name, note="nothing was seen: the case did not end")

    def __call__(
        self, case: Case, waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> tuple[Measurement, bytes]:
        """The outcome of `case` and its JSON. Lets only a `KeyboardInterrupt` from outside pass; `waiting()`
        surrounds what may take long: what the backend came to is not lost while it is judged."""
        return self._finished(case, lambda case, system: self._judged(case, system, waiting))

    def known(self, case: Case) -> tuple[Measurement, bytes] | None:
        """The same without trying: of a case that is skipped, or whose observation is kept; else None."""
        if not isinstance(self.backend, CachedBackend):
            return None
        if not case.skip:
            seen = self.backend.known(case, self.systems[case.key.instance])
            if seen is None:
                return None
            return self._finished(case, lambda case, system: self.judge.judge(case, seen, system))
        return self(case)

    def looking_up(self) -> AbstractContextManager[None]:
        """Around many calls of `known`."""
        return self.backend.cache.reading() if isinstance(self.backend, CachedBackend) else nullcontext()

    def _finished(
        self, case: Case, judged: Callable[[Case, System], Measurement]
    ) -> tuple[Measurement, bytes]:
        system = self.systems[case.key.instance]
        with identity(kept=self.keep_identity):
            measurement = judged(case, system)
            if self._expected is not None:
                measurement = self._expected.measurement(measurement, case, system)
            try:
                return self._kept(measurement)
            except BadInput as error:
                return self._kept(self.gone_wrong(case, Reason.ERROR, error.what))

    def _kept(self, measurement: Measurement) -> tuple[Measurement, bytes]:
        """The measurement without names of the machine, and its JSON. Raises `BadInput` for what is none."""
        if self._named:
            measurement = _scrubbed(measurement)
        document = dumps_measurement(measurement)
        if not is_named(document):
            return measurement, document
        # A kernel or backend of the user's told a path, or what a variable holds.
        measurement = _scrubbed(measurement)
        tree = msgspec.to_builtins(measurement)
        told = {
            key: value if key == "case" else scrub_all(value, scrub_private) for key, value in tree.items()
        }
        measurement = msgspec.convert(told, Measurement)
        return measurement, dumps_measurement(measurement)

    def gone_wrong(self, case: Case, reason: Reason, text: str, notes: tuple[str, ...] = ()) -> Measurement:
        """A failed case without an observation."""
        text, notes = scrub(text), tuple(map(scrub, notes))
        return self.judge.failed(case, self.systems[case.key.instance], self.unseen, reason, text, notes)

    def _judged(
        self, case: Case, system: System, waiting: Callable[[], AbstractContextManager[None]]
    ) -> Measurement:
        try:
            with waiting():
                why = case.skip or checked_refusal(self.backend, self.backend.unsupported(case, system))
            if why:
                return self.judge.skipped(case, system, why)
            import random

            random.seed(f"{self.seed}:{case.id}")
            if numpy := sys.modules.get("numpy"):
                # Legacy on purpose: it is the generator that code without one of its own draws from.
                numpy.random.seed(random.getrandbits(32))
            # What a kernel prints must not end up between the data on stdout.
            with aside(), limited(self.timeout_s), waiting():
                seen = checked_observation(self.backend, self.backend.observe(case, system))
            if self._named and seen.evidence.grade is Grade.DERIVED:
                text = (
                    f"a measured run takes no formula; the backend derives its result by {seen.evidence.by}"
                )
                return self.gone_wrong(case, Reason.NO_EVIDENCE, text)
            return self.judge.judge(case, seen, system)
        except CaseTimeout:
            text = f"not done after {self.timeout_s:g} s (--timeout)"
            return self.gone_wrong(case, Reason.TIMEOUT, text)
        except MemoryError as error:
            text = f"the process ran out of memory{f': {error}' if str(error) else ''}"
            return self.gone_wrong(case, Reason.OUT_OF_MEMORY, text, _trace(error))
        except TrnbenchError as error:
            text = "; ".join(filter(None, (error.what, error.cause)))
            text += f"{NEXT}{error.try_}" if error.try_ else ""
            return self.gone_wrong(case, Reason.ERROR, text, _trace(error))
        except BaseException as error:
            if from_outside(error):
                raise Interrupted from error
            text = f"{type(error).__name__}: {error} (at {_place(error)})"
            return self.gone_wrong(case, Reason.CRASH, text, _trace(error))


def _scrubbed(measurement: Measurement) -> Measurement:
    """All words that came from the machine, without its names; what was asked for is left as it is."""
    return replace(
        measurement,
        evidence=replace(
            measurement.evidence,
            **{key: scrub(getattr(measurement.evidence, key)) for key in ("by", "version", "note")},
        ),
        reason_text=scrub(measurement.reason_text),
        notes=tuple(scrub(note) for note in measurement.notes),
        detail=scrub_all(measurement.detail),
    )


def _place(error: BaseException) -> str:
    """`package/module.py:12`, without the folders above the package."""
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno}"


def _trace(error: BaseException) -> tuple[str, ...]:
    if not debugging():
        return ()
    import traceback

    return ("".join(traceback.format_exception(error)),)


AGAIN = (Reason.CRASH, Reason.OUT_OF_MEMORY, Reason.TIMEOUT)
"""What may be an accident of the moment. A wrong result or missing evidence is none: it stays."""


class Retries:
    """Counts the tries of each case of a run; `most` is how often one is tried again."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._lost: dict[int, list[str]] = {}

    def again(self, position: int, entry: Entry) -> bool:
        """Whether to try the case once more; what went wrong is kept for `told`."""
        if entry.reason not in AGAIN:
            return False
        lost = self._lost.setdefault(position, [])
        if len(lost) >= self.most:
            return False
        lost.append(f"try {len(lost) + 1}: {entry.reason}: {entry.measurement.reason_text}")
        return True

    def told(self, position: int, entry: Entry) -> Entry:
        """The outcome with its earlier tries in the notes; the same one where there were none."""
        lost = self._lost.get(position)
        if not lost:
            return entry
        measurement = entry.measurement
        notes = (*measurement.notes, f"this is try {len(lost) + 1}", *lost)
        detail = {**measurement.detail, "tries": len(lost) + 1}
        return Entry(replace(measurement, notes=notes, detail=detail))


Outcome: TypeAlias = tuple[int, Entry]
"""Its position in the plan, and what is kept of its measurement."""


_ENDS = (Status.FAILED, Status.SKIPPED)
"""What one process comes to, and no other would change."""


MOST = 3
"""Times as many processes as were asked for, where those lie too far apart to tell one time."""


class Task(NamedTuple):
    """One process of one case: its position in the plan, and which round it is, from 0."""

    position: int
    round: int


def tasks(
    cases: Sequence[Case],
    rounds: int,
    positions: Iterable[int] | None = None,
    done: Mapping[int, Mapping[int, Measurement]] = {},
    *,
    by_case: bool = False,
) -> tuple[Task, ...]:
    """Round 1 of all cases, round 2 of all, and so on, without what is `done` (by position and round): what
    the machine does for a while then falls on one round of many cases, not on all of one. `by_case`: all
    rounds of the first case, then of the second."""
    chosen = tuple(range(len(cases)) if positions is None else positions)
    order = [(position, number) for number in range(rounds) for position in chosen]
    if by_case:
        order = [(position, number) for position in chosen for number in range(rounds)]
    return tuple(
        Task(position, number)
        for position, number in order
        if number not in done.get(position, {}) and not (number and cases[position].skip)
    )


def for_ranks(cases: Sequence[Case], rounds: int) -> tuple[Case, ...]:
    """The cases as several ranks measure them together. A run of theirs cannot be resumed: each case is done
    before the next one begins."""
    return tuple(cases[task.position] for task in tasks(cases, rounds, by_case=True))


class Rounds:
    """Collects what the processes of each case come to; `begun` holds rounds of an earlier attempt.

    A case has `rounds` processes, and as many again, up to `most` in all, while they disagree for no reason
    that more of them would not help against.
    """

    def __init__(
        self,
        attempts: Attempts,
        rounds: int,
        begun: Mapping[int, Mapping[int, Measurement]] = {},
        *,
        most: int,
    ) -> None:
        self._attempts, self.rounds, self._most = attempts, rounds, max(rounds, most)
        self._seen: dict[int, dict[int, Measurement]] = {at: dict(each) for at, each in begun.items()}

    @property
    def begun(self) -> int:
        """How many cases have some of their rounds and not all."""
        return len(self._seen)

    def left(self, cases: Sequence[Case], positions: Iterable[int], *, by_case: bool) -> tuple[Task, ...]:
        """What is still to be done of these, as far as can be told."""
        return tuple(
            task
            for rounds, those in sorted(grouped(positions, self._wanted).items())
            for task in tasks(cases, rounds, those, self._seen, by_case=by_case)
        )

    def take(self, case: Case, task: Task, entry: Entry) -> Entry | None:
        """What the whole case came to, once it has all its rounds or one failed."""
        if self.rounds == 1:
            return entry
        if entry.status in _ENDS:
            seen = self._seen.pop(task.position, {})
            if entry.status is Status.SKIPPED or not task.round:
                return entry
            measurement = entry.measurement
            text = f"process {task.round + 1} of {max(self.rounds, len(seen) + 1)}: {measurement.reason_text}"
            return Entry(replace(measurement, reason_text=text))
        seen = self._seen.setdefault(task.position, {})
        seen[task.round] = entry.measurement
        return None if len(seen) < self._wanted(task.position) else self.ended(case, task.position)

    def ended(self, case: Case, position: int) -> Entry | None:
        """The measurement of a case that gets no more rounds; none where some of the first are missing."""
        seen = self._seen.get(position, {})
        if len(seen) < self.rounds:
            return None
        del self._seen[position]
        rounds = [seen[number] for number in sorted(seen)]
        whole = self._attempts.judge.together(case, self._attempts.systems[case.key.instance], rounds)
        tries = max(int(each.detail.get("tries", 1)) for each in rounds)
        if tries > 1:
            whole = replace(whole, detail={**whole.detail, "tries": tries})
        return Entry(whole)

    def _wanted(self, position: int) -> int:
        """How many rounds the case has, by those that are there."""
        seen = self._seen.get(position, {})
        full = len(seen) // self.rounds * self.rounds
        if not full or full != len(seen):
            return full + self.rounds
        judge = self._attempts.judge
        more = full < self._most and judge.undecided([seen[number] for number in sorted(seen)])
        return full + self.rounds if more else full
