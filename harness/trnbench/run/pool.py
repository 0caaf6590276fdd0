"""Cases in several processes: a crash or a hang costs one case, and it is known which."""

from __future__ import annotations

import pickle
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from trnbench.errors import ExitCode, TrnbenchError
from trnbench.kernels.case import Case
from trnbench.results.json import dumps_measurement
from trnbench.results.measurement import Measurement, Reason
from trnbench.run.attempt import Attempts
from trnbench.run.freight import dumps
from trnbench.run.memory import out_of_memory_kills
from trnbench.run.retry import Retries
from trnbench.run.worker import serve

if TYPE_CHECKING:
    from multiprocessing.context import SpawnContext, SpawnProcess

GRACE_S = 3.0
"""The alarm inside a worker rings first; this much later the worker itself is ended."""

TOGETHER = 128
"""Cases handed out at once, at most: those of one kernel share what a process works out for them."""

Outcome: TypeAlias = tuple[int, Measurement, bytes]


class WorkerLost(TrnbenchError):
    """A worker process did not even start."""

    exit_code = ExitCode.CRASH


def pack(attempts: Attempts, cases: Sequence[Case]) -> bytes:
    """What every worker is sent. Raises `ValueError` when something cannot be sent to another process."""
    try:
        return dumps((attempts, tuple(cases)))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(str(error)) from error


class _Worker:
    """One process and what it is busy with."""

    def __init__(self, context: SpawnContext, payload: bytes) -> None:
        self.connection, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=serve, args=(theirs,), daemon=True)
        # Ignored signals are inherited: a Ctrl-C while the child boots must not kill it with a traceback.
        before = signal.getsignal(signal.SIGINT)
        _set_interrupt(signal.SIG_IGN)
        try:
            self.process.start()
        finally:
            _set_interrupt(before)
        theirs.close()
        self.connection.send_bytes(payload)
        self.ready = False
        self.batch: deque[int] = deque()
        self.since = time.monotonic()
        self.memory_kills = out_of_memory_kills()

    def give(self, batch: Sequence[int]) -> None:
        self.batch.extend(batch)
        self.since = time.monotonic()
        self.connection.send(list(batch) if batch else None)

    def end(self) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.connection.close()


def _set_interrupt(handler: Any) -> None:
    with suppress(ValueError):  # outside the main thread there is nothing to protect from
        signal.signal(signal.SIGINT, handler)


def batches(cases: Sequence[Case], most: int) -> list[list[int]]:
    """Positions of cases, at most `most` together, the largest batches first.

    One kernel on the systems of one generation stays together: a model has to record it once for them.
    Collectives have nothing in common but their system.
    """
    found: dict[tuple[str, str], list[int]] = {}
    for position, case in enumerate(cases):
        linked = case.kernel.spread.linked
        owner = case.key.instance if linked else case.key.generation
        found.setdefault((owner, "" if linked else case.key.kernel), []).append(position)
    parts = [each[at : at + most] for each in found.values() for at in range(0, len(each), most)]
    return sorted(parts, key=lambda each: -len(each))


class Pool:
    """`jobs` workers, started by spawn. Outcomes come as they are ready, each with its position.

    With `apart` every case has a process of its own: nothing that one leaves behind (threads, memory,
    a warm cache of compiled code, a device in a strange state) reaches the next.
    """

    def __init__(
        self, attempts: Attempts, cases: Sequence[Case], jobs: int, *, apart: bool = False, retries: int = 0
    ) -> None:
        self._attempts, self._cases, self._jobs, self._apart = attempts, cases, jobs, apart
        self._retries = Retries(retries)
        self._payload = pack(attempts, cases)
        most = max(1, min(TOGETHER, len(cases) // (4 * jobs)))
        self._batches = [[each] for each in range(len(cases))] if apart else batches(cases, most)

    def outcomes(
        self, waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> Generator[Outcome]:
        """Every case once; `waiting()` surrounds the only place that blocks.

        Raises `WorkerLost` when a worker cannot be started. Workers end with the iterator.
        """
        from multiprocessing import get_context

        self._context = get_context("spawn")
        self._left = deque(self._batches)
        self._workers: list[_Worker] = []
        try:
            for _ in range(min(self._jobs, len(self._cases))):
                self._workers.append(_Worker(self._context, self._payload))
            while self._workers:
                yield from self._round(waiting)
        finally:
            for worker in self._workers:
                worker.end()

    def _round(self, waiting: Callable[[], AbstractContextManager[None]]) -> Iterator[Outcome]:
        from multiprocessing.connection import wait

        with waiting():
            ready = wait([worker.connection for worker in self._workers], timeout=self._patience())
        now = time.monotonic()
        for worker in tuple(self._workers):
            if worker.connection in ready:
                yield from self._heard(worker)
            elif self._overdue(worker, now):
                text = (
                    f"not done after {self._attempts.timeout_s:g} s (--timeout), and deaf to the alarm: "
                    "its process was ended"
                )
                yield from self._lost(worker, Reason.TIMEOUT, text)

    def _patience(self) -> float | None:
        limit = self._attempts.timeout_s
        return None if limit <= 0.0 else min(1.0, limit)

    def _overdue(self, worker: _Worker, now: float) -> bool:
        limit = self._attempts.timeout_s
        return limit > 0.0 and bool(worker.batch) and now - worker.since > limit + GRACE_S

    def _heard(self, worker: _Worker) -> Iterator[Outcome]:
        try:
            message = worker.connection.recv()
        except (EOFError, ConnectionResetError, pickle.UnpicklingError):
            worker.process.join(GRACE_S)
            if not worker.ready:
                raise _unstartable(worker) from None
            if worker.batch:
                yield from self._lost(worker, *_epitaph(worker))
            else:
                self._dismiss(worker)
            return
        worker.since = time.monotonic()
        if message == "ready":
            worker.ready = True
        else:
            worker.batch.popleft()
            yield from self._ended(*message)
            if self._apart:
                worker.give(())
                self._dismiss(worker)
                self._replace()
                return
        if not worker.batch:
            self._feed(worker)

    def _feed(self, worker: _Worker) -> None:
        if self._left:
            worker.give(self._left.popleft())
        else:
            worker.give(())
            self._dismiss(worker)

    def _dismiss(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.process.join(GRACE_S)
        worker.end()

    def _replace(self) -> None:
        if self._left:
            self._workers.append(_Worker(self._context, self._payload))

    def _ended(self, position: int, measurement: Measurement, document: bytes) -> Iterator[Outcome]:
        """The outcome of a case, unless it is to be tried once more."""
        if self._retries.again(position, measurement):
            self._left.appendleft([position])
        elif (told := self._retries.told(position, measurement)) is not measurement:
            yield position, told, dumps_measurement(told)
        else:
            yield position, measurement, document

    def _lost(self, worker: _Worker, reason: Reason, text: str) -> Iterator[Outcome]:
        """Blame the case the worker was busy with, and give the rest of its batch to a new worker."""
        position = worker.batch.popleft()
        if worker.batch:
            self._left.appendleft(list(worker.batch))
        self._workers.remove(worker)
        worker.end()
        measurement = self._attempts.gone_wrong(self._cases[position], reason, text)
        yield from self._ended(position, measurement, dumps_measurement(measurement))
        self._replace()


def _epitaph(worker: _Worker) -> tuple[Reason, str]:
    code = worker.process.exitcode
    if code is None:
        return Reason.CRASH, "the process that ran it closed its connection"
    if code >= 0:
        return Reason.CRASH, f"the process that ran it ended itself with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    text = f"the process that ran it was killed by {name}"
    if name != "SIGKILL":
        return Reason.CRASH, text
    if worker.memory_kills < out_of_memory_kills():
        return Reason.OUT_OF_MEMORY, f"{text}: the system ran out of memory and counted a process it ended"
    return Reason.CRASH, f"{text}; most often that is the system's out-of-memory killer"


def _unstartable(worker: _Worker) -> WorkerLost:
    return WorkerLost(
        f"a worker process did not start (exit code {worker.process.exitcode})",
        cause="a script that uses jobs lacks `if __name__ == '__main__':`, or a plugin fails to import there",
        try_="--jobs 1 (jobs=1)  runs everything in one process",
    )
