"""Cases on all ranks at once: rank 0 puts results together and records them, the others follow."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from msgspec.structs import replace

from trnbench.backend import Backend
from trnbench.errors import ExitCode, TrnbenchError
from trnbench.kernels.kernel import Case
from trnbench.results.json import dumps_measurement, loads_value
from trnbench.results.measurement import BAD, Measurement, Reason, Status
from trnbench.results.statistics import median
from trnbench.run.attempt import Attempts, Outcome, Retries
from trnbench.run.executor import CutShort, Rank
from trnbench.run.pool import GRACE_S, Pool
from trnbench.run.ranks.connection import Gone, Late, Line, place_of
from trnbench.run.ranks.rendezvous import gather, hello, join
from trnbench.store.entry import Entry

BOOT_S = 30.0
"""What a case's own process may take before and after the case, on a machine that is busy with it."""


class RankExecutor:
    """`ended` tells the others how the run came out, so that every process of the job says the same."""

    name = "ranks"
    elsewhere = False
    by_case = True

    def __init__(self, rank: Rank) -> None:
        self._rank = rank
        self.lines: dict[int, Line] = {}

    def placed(self, backend: Backend, *, keep_identity: bool = False) -> Backend:
        return backend

    def pool(
        self, attempts: Attempts, cases: Sequence[Case], *, jobs: int, apart: bool, retries: int
    ) -> RankPool:
        return RankPool(self, self._rank, attempts, cases, retries)

    def ended(self, code: int, error: TrnbenchError | None = None) -> None:
        """Once; later calls have nobody to tell."""
        message = {"what": error.what, "cause": error.cause, "try_": error.try_} if error else {}
        for line in self.lines.values():
            with contextlib.suppress(Gone):
                line.send(end=code, **message)
            line.close()
        self.lines.clear()


class RankPool:
    """Cases one after the other, each on all ranks at once."""

    def __init__(
        self, executor: RankExecutor, rank: Rank, attempts: Attempts, cases: Sequence[Case], retries: int
    ) -> None:
        self._executor, self._rank = executor, rank
        self._attempts, self._cases = attempts, cases
        self._retries = Retries(retries)
        self._shared: list[list[int]] = []
        self.notes: list[str] = []

    def outcomes(
        self, waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> Generator[Outcome]:
        """Every case once. Raises `CutShort` when a rank is lost: the others cannot go on without it."""
        own = hello(self._attempts, self._cases)
        met = gather(self._rank, place_of(self._rank), own, waiting)
        self._executor.lines = {number: line for number, (line, _) in met.items()}
        self._know({0: own, **{number: answer for number, (_, answer) in met.items()}})
        self._left = deque(range(len(self._cases)))
        while self._left:
            position = self._left.popleft()
            seen, lost = self._carried_out(position, waiting)
            entry = Entry(lost[0] if lost else together(seen, self._shared))
            if not lost and self._retries.again(position, entry):
                self._left.appendleft(position)
                continue
            yield position, self._retries.told(position, entry)
            if lost:
                raise lost[1]

    def leave_out(self, positions: Collection[int]) -> None:
        """These need not be carried out any more, where they have not begun."""
        self._left = deque(position for position in self._left if position not in positions)

    def _know(self, hellos: dict[int, dict[str, Any]]) -> None:
        by_machine: dict[str, list[int]] = defaultdict(list)
        for number in sorted(hellos):
            by_machine[str(hellos[number]["machine"])].append(number)
        self._shared = [members for members in by_machine.values() if len(members) > 1]
        self.notes.append(
            f"{self._rank.size} ranks of {self._rank.launcher} on {len(by_machine)} "
            f"machine{'s' if len(by_machine) > 1 else ''} measured every case at once; a result is the "
            "slowest rank's, detail.ranks has all"
        )

    def _carried_out(
        self, position: int, waiting: Callable[[], AbstractContextManager[None]]
    ) -> tuple[dict[int, Measurement], tuple[Measurement, CutShort] | None]:
        for number, line in self._executor.lines.items():
            try:
                line.send(case=position)
            except Gone:
                return {}, self._lost(position, number)
        limit = self._attempts.timeout_s
        deadline = time.monotonic() + limit + GRACE_S + BOOT_S if limit > 0.0 else None
        seen = {0: carried_out(self._attempts, self._cases[position], waiting)}
        for number, line in self._executor.lines.items():
            try:
                with waiting():
                    answer = line.hear(deadline)
                seen[number] = loads_value(str(answer["measurement"]), Measurement, f"rank {number}")
            except Late:
                return seen, self._lost(position, number, limit + GRACE_S + BOOT_S)
            except (Gone, KeyError, TrnbenchError):
                return seen, self._lost(position, number)
        return seen, None

    def _lost(self, position: int, number: int, late_s: float = 0.0) -> tuple[Measurement, CutShort]:
        sentence = (
            f"rank {number} of {self._rank.size} did not answer within {late_s:g} s"
            if late_s
            else f"rank {number} of {self._rank.size} was lost"
        )
        error = CutShort(
            sentence,
            cause="it hangs, or its machine does" if late_s else "its process ended, or its machine left",
            try_="its own output, which the launcher has; then the same command again",
            code=ExitCode.TIMEOUT if late_s else ExitCode.CRASH,
        )
        reason = Reason.TIMEOUT if late_s else Reason.CRASH
        return self._attempts.gone_wrong(self._cases[position], reason, sentence), error


def carried_out(
    attempts: Attempts, case: Case, waiting: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Measurement:
    """One case on this rank, in a process of its own."""
    ((_, entry),) = Pool(attempts, (case,), 1, apart=True).outcomes(waiting)
    return entry.measurement


@contextlib.contextmanager
def rank_executor(rank: Rank) -> Iterator[RankExecutor]:
    """Whatever ends the run, the other ranks are told."""
    executor = RankExecutor(rank)
    try:
        yield executor
    except TrnbenchError as error:
        executor.ended(int(error.exit_code), error)
        raise
    except BaseException as error:
        executor.ended(int(ExitCode.CRASH), TrnbenchError(f"rank 0 ended: {type(error).__name__}"))
        raise
    finally:
        executor.ended(int(ExitCode.OK))


def follow(rank: Rank, attempts: Attempts, cases: Sequence[Case]) -> int:
    """The exit code that rank 0 tells. Raises `CutShort` when rank 0 is lost, or says what went wrong."""
    line = join(rank, place_of(rank), hello(attempts, cases))
    limit = attempts.timeout_s
    # While rank 0 waits for another rank it says nothing; it waits no longer than this.
    patience = 2 * (limit + GRACE_S + BOOT_S) + 60.0 if limit > 0.0 else None
    try:
        while True:
            asked = _next(rank, line, patience)
            if "end" in asked:
                return _ended(rank, asked)
            position = int(asked["case"])
            measurement = carried_out(attempts, cases[position])
            line.send(case=position, measurement=dumps_measurement(measurement).decode())
    except Gone:
        raise CutShort(
            f"rank {rank.rank}: rank 0 was lost",
            cause="its process ended, or its machine left; what it had recorded is in its store",
            try_="the output of rank 0",
        ) from None
    finally:
        line.close()


def _next(rank: Rank, line: Line, patience: float | None) -> dict[str, Any]:
    try:
        return line.hear(None if patience is None else time.monotonic() + patience)
    except Late:
        raise CutShort(
            f"rank {rank.rank}: no word from rank 0 for {patience:g} s",
            cause="it hangs, or its machine does",
            try_="the output of rank 0",
            code=ExitCode.TIMEOUT,
        ) from None


def _ended(rank: Rank, asked: dict[str, Any]) -> int:
    code = ExitCode(int(str(asked["end"])))
    if asked.get("what"):
        raise CutShort(
            f"rank {rank.rank}: the run has ended: {asked['what']}",
            cause=str(asked.get("cause", "")),
            try_=str(asked.get("try_", "")),
            code=code,
        )
    return int(code)


STRAGGLES = 1.05
"""Times the median of all ranks from which the slowest is named: two medians, each known to 2 %, differ by
4 % without a cause."""


def together(seen: Mapping[int, Measurement], shared: Sequence[Sequence[int]] = ()) -> Measurement:
    """What a job of all ranks gets: the slowest rank's time, and with it all others' in `detail.ranks`.

    One rank that failed fails the case; one whose number is suspect makes it suspect. `shared` are ranks
    that ran on one machine: they measured each other, and the result says so.
    """
    number, chosen = _chosen(seen)
    notes = [*chosen.notes]
    detail = {**chosen.detail}
    times = {rank: measurement.time_s for rank, measurement in seen.items() if measurement.time_s is not None}
    if len(times) == len(seen):
        job = spread(times)
        detail["ranks"] = job
        if job["slowest_over_median"] > STRAGGLES:
            notes.insert(
                0,
                f"rank {job['slowest']} is a straggler: {job['slowest_over_median']:.3g} times the median "
                f"of {len(times)} ranks",
            )
    elif chosen.status is not Status.SKIPPED:
        detail["ranks"] = {
            "count": len(seen),
            "status": {str(rank): _told(seen[rank]) for rank in sorted(seen)},
        }
    notes.extend(
        f"ranks {', '.join(map(str, rank))} ran at once on one machine and shared it" for rank in shared
    )
    text = chosen.reason_text
    if chosen.status in BAD and text:
        text = f"rank {number}: {text}"
    return replace(chosen, notes=tuple(notes), detail=detail, reason_text=text)


def _told(one: Measurement) -> str:
    return f"{one.status} {one.reason}".strip()


def spread(times: Mapping[int, float]) -> dict[str, Any]:
    """Seconds by rank, their median, the slowest rank and how far it is from the median. JSON-safe."""
    slowest = max(times, key=lambda each: (times[each], -each))
    middle = median(tuple(times.values()))
    return {
        "count": len(times),
        "time_s": {str(time_s): times[time_s] for time_s in sorted(times)},
        "median_s": middle,
        "slowest": slowest,
        "slowest_over_median": times[slowest] / middle,
    }


def _chosen(seen: Mapping[int, Measurement]) -> tuple[int, Measurement]:
    for status in BAD:
        for number in sorted(seen):
            if seen[number].status is status:
                return number, seen[number]
    skipped = [number for number in sorted(seen) if seen[number].status is Status.SKIPPED]
    if skipped and len(skipped) < len(seen):
        odd = seen[skipped[0]]
        text = f"left out there, and not elsewhere: {odd.reason_text}"
        return skipped[0], replace(odd, status=Status.FAILED, reason=Reason.ERROR, reason_text=text)
    number = max(seen, key=lambda each: (seen[each].time_s or 0.0, -each))
    return number, seen[number]
