"""A measured case in several processes: round after round of all cases, and one measurement of all rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from trnbench.kernels.kernel import Case
from trnbench.results.measurement import Measurement, Status
from trnbench.run.attempt import Attempts
from trnbench.store.entry import Entry

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
        most: int = 0,
    ) -> None:
        self._attempts, self.rounds, self._most = attempts, rounds, max(rounds, most)
        self._seen: dict[int, dict[int, Measurement]] = {at: dict(each) for at, each in begun.items()}

    @property
    def begun(self) -> int:
        """How many cases have some of their rounds and not all."""
        return len(self._seen)

    def left(self, cases: Sequence[Case], positions: Iterable[int], *, by_case: bool) -> tuple[Task, ...]:
        """What is still to be done of these, as far as can be told."""
        wanted: dict[int, list[int]] = {}
        for position in positions:
            wanted.setdefault(self._wanted(position), []).append(position)
        return tuple(
            task
            for rounds, those in sorted(wanted.items())
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
            return Entry(msgspec.structs.replace(measurement, reason_text=text))
        seen = self._seen.setdefault(task.position, {})
        seen[task.round] = entry.measurement
        return None if len(seen) < self._wanted(task.position) else self.ended(case, task.position)

    def ended(self, case: Case, position: int) -> Entry | None:
        """The measurement of a case that gets no more rounds; none where some of the first are missing."""
        seen = self._seen.get(position, {})
        if len(seen) < self.rounds:
            return None
        del self._seen[position]
        return Entry(merged(self._attempts, case, [seen[number] for number in sorted(seen)]))

    def _wanted(self, position: int) -> int:
        """How many rounds the case has, by those that are there."""
        seen = self._seen.get(position, {})
        full = len(seen) // self.rounds * self.rounds
        if not full or full != len(seen):
            return full + self.rounds
        judge = self._attempts.judge
        more = full < self._most and judge.undecided([seen[number] for number in sorted(seen)])
        return full + self.rounds if more else full


def merged(attempts: Attempts, case: Case, rounds: Sequence[Measurement]) -> Measurement:
    """One measurement of a case's rounds, none of which failed."""
    whole = attempts.judge.together(case, attempts.systems[case.key.instance], rounds)
    tries = max(int(each.detail.get("tries", 1)) for each in rounds)
    return whole if tries == 1 else msgspec.structs.replace(whole, detail={**whole.detail, "tries": tries})
