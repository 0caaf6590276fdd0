"""A measured case in several processes: round after round of all cases, and one measurement of all rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from trnbench.kernels.case import Case
from trnbench.results.json import dumps_measurement
from trnbench.results.measurement import Measurement, Status
from trnbench.run.attempt import Attempts
from trnbench.run.pool import Pool

_ENDS = (Status.FAILED, Status.SKIPPED)
"""What one process comes to, and no other would change."""


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
    return tuple(cases[each.position] for each in tasks(cases, rounds, by_case=True))


class Rounds:
    """Collects what the processes of each case come to; `begun` holds rounds of an earlier attempt."""

    def __init__(
        self, attempts: Attempts, rounds: int, begun: Mapping[int, Mapping[int, Measurement]] = {}
    ) -> None:
        self._attempts, self.rounds = attempts, rounds
        self._seen: dict[int, dict[int, Measurement]] = {at: dict(each) for at, each in begun.items()}

    @property
    def begun(self) -> int:
        """How many cases have some of their rounds and not all."""
        return len(self._seen)

    def take(
        self, case: Case, task: Task, measurement: Measurement, document: bytes
    ) -> tuple[Measurement, bytes] | None:
        """The measurement of the whole case and its JSON, once it has all its rounds or one failed."""
        if measurement.status in _ENDS:
            self._seen.pop(task.position, None)
            if measurement.status is Status.SKIPPED or self.rounds == 1:
                return measurement, document
            text = f"process {task.round + 1} of {self.rounds}: {measurement.reason_text}"
            whole = msgspec.structs.replace(measurement, reason_text=text) if task.round else measurement
            return whole, dumps_measurement(whole)
        if self.rounds == 1:
            return measurement, document
        seen = self._seen.setdefault(task.position, {})
        seen[task.round] = measurement
        if len(seen) < self.rounds:
            return None
        del self._seen[task.position]
        whole = merged(self._attempts, case, [seen[number] for number in sorted(seen)])
        return whole, dumps_measurement(whole)


def merged(attempts: Attempts, case: Case, rounds: Sequence[Measurement]) -> Measurement:
    """One measurement of a case's rounds, none of which failed."""
    whole = attempts.judge.together(case, attempts.systems[case.key.instance], rounds)
    tries = max(int(each.detail.get("tries", 1)) for each in rounds)
    return whole if tries == 1 else msgspec.structs.replace(whole, detail={**whole.detail, "tries": tries})


def carried_out(attempts: Attempts, case: Case, rounds: int) -> Measurement:
    """One case by itself: its processes one after the other."""
    collected = Rounds(attempts, rounds)
    pool = Pool(attempts, (case,) * rounds, 1, apart=True)
    for number, measurement, document in pool.outcomes():
        if (whole := collected.take(case, Task(0, number), measurement, document)) is not None:
            return whole[0]
    raise AssertionError("a pool gave no outcome for a case")
