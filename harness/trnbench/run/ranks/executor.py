"""Rank 0: carries out each case with all the others, and puts what they saw together."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from trnbench.backend import Backend
from trnbench.errors import ExitCode, TrnbenchError
from trnbench.kernels.case import Case
from trnbench.results.json import dumps_measurement, loads_value
from trnbench.results.measurement import Measurement, Reason
from trnbench.run.attempt import Attempts
from trnbench.run.cut import CutShort
from trnbench.run.outcome import Outcome
from trnbench.run.pool import GRACE_S, Pool
from trnbench.run.ranks.hello import hello
from trnbench.run.ranks.line import Gone, Late, Line
from trnbench.run.ranks.meeting import gather
from trnbench.run.ranks.place import place_of
from trnbench.run.ranks.rank import Rank
from trnbench.run.ranks.together import together
from trnbench.run.retry import Retries

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
        told = {"what": error.what, "cause": error.cause, "try_": error.try_} if error else {}
        for line in self.lines.values():
            with contextlib.suppress(Gone):
                line.send(end=code, **told)
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
        self._know({0: own, **{number: each for number, (_, each) in met.items()}})
        self._left = deque(range(len(self._cases)))
        while self._left:
            position = self._left.popleft()
            seen, lost = self._carried_out(position, waiting)
            measurement = lost[0] if lost else together(seen, self._shared)
            if not lost and self._retries.again(position, measurement):
                self._left.appendleft(position)
                continue
            told = self._retries.told(position, measurement)
            yield position, told, dumps_measurement(told)
            if lost:
                raise lost[1]

    def leave_out(self, positions: Collection[int]) -> None:
        """These need not be carried out any more, where they have not begun."""
        self._left = deque(each for each in self._left if each not in positions)

    def _know(self, hellos: dict[int, dict[str, Any]]) -> None:
        by_machine: dict[str, list[int]] = defaultdict(list)
        for number in sorted(hellos):
            by_machine[str(hellos[number]["machine"])].append(number)
        self._shared = [each for each in by_machine.values() if len(each) > 1]
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
        what = (
            f"rank {number} of {self._rank.size} did not answer within {late_s:g} s"
            if late_s
            else f"rank {number} of {self._rank.size} was lost"
        )
        error = CutShort(
            what,
            cause="it hangs, or its machine does" if late_s else "its process ended, or its machine left",
            try_="its own output, which the launcher has; then the same command again",
            code=ExitCode.TIMEOUT if late_s else ExitCode.CRASH,
        )
        reason = Reason.TIMEOUT if late_s else Reason.CRASH
        return self._attempts.gone_wrong(self._cases[position], reason, what), error


def carried_out(
    attempts: Attempts, case: Case, waiting: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Measurement:
    """One case on this rank, in a process of its own."""
    ((_, measurement, _),) = Pool(attempts, (case,), 1, apart=True).outcomes(waiting)
    return measurement


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
