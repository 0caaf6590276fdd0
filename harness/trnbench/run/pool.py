"""Cases in several processes: a crash or a hang costs one case, and it is known which."""

from __future__ import annotations

import pickle
import select
import time
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from trnbench.kernels.kernel import Case, Kernel
from trnbench.results.measurement import Measurement, Reason
from trnbench.run.attempt import MOST, Attempts, Outcome, Retries, Rounds
from trnbench.run.worker import DROPPED, READY, CaseMessage, WorkerProcess, dumps
from trnbench.store.entry import Entry

GRACE_S = 3.0
"""The alarm inside a worker rings first; this much later the worker itself is ended."""

TOGETHER = 128
"""Cases handed out at once, at most: those of one kernel share what a process works out for them."""

SLOW_S = 1.0
"""A case that takes longer may hang: who has nothing to do takes over from those that wait behind it."""

_PLAIN = (int, float, str, bool)

DELIVERY_S = 1.0
"""After an interruption: a process between two cases answers by then, on a machine however busy."""


def pack(attempts: Attempts, what: Sequence[Case] | Sequence[Kernel]) -> bytes:
    """What every worker is sent first. Raises `ValueError` when something cannot be sent to another
    process."""
    with _pickling():
        return dumps((attempts, tuple(what)))


def _check_sendable(cases: Iterable[CaseMessage]) -> None:
    """Raises `ValueError` for a case with values of a plugin's that no other process can be sent."""
    with _pickling():
        for case in cases:
            if not all(type(value) in _PLAIN for value in case[2].point.values()):
                pickle.dumps(case)


@contextmanager
def _pickling() -> Iterator[None]:
    try:
        yield
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(str(error)) from error


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
    """`jobs` workers, started by spawn. Outcomes come as they are ready, each with its position; those that
    had ended when an interruption came are in `delivered`, and are of no iterator.

    A single one takes them in their order. Each has a session of its own and a keeper, so that what a case
    starts ends with it; one in which a case left something behind (a thread, another working folder, a time
    limit in the middle of anything) is replaced.

    With `apart` every case has a process of its own: nothing that one leaves behind (threads, memory,
    a warm cache of compiled code, a device in a strange state) reaches the next.
    """

    def __init__(
        self, attempts: Attempts, cases: Sequence[Case], jobs: int, *, apart: bool = False, retries: int = 0
    ) -> None:
        self._attempts, self._cases, self._jobs, self._apart = attempts, cases, jobs, apart
        self._retries = Retries(retries)
        self.delivered: list[Outcome] = []
        kernels = {id(case.kernel): case.kernel for case in cases}
        self._payload = pack(attempts, tuple(kernels.values()))
        self._numbers = {each: number for number, each in enumerate(kernels)}
        _check_sendable(self._messages(range(len(cases))))
        most = max(1, min(TOGETHER, len(cases) // (4 * jobs)))
        if apart:
            self._batches = [[each] for each in range(len(cases))]
        elif jobs == 1:
            order = range(len(cases))
            self._batches = [list(order[at : at + most]) for at in range(0, len(cases), most)]
        else:
            self._batches = batches(cases, most)

    def outcomes(
        self, waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> Generator[Outcome]:
        """Every case once; `waiting()` surrounds the only place that blocks.

        Raises `WorkerLost` when a worker cannot be started. Workers end with the iterator.
        """
        from multiprocessing import get_context

        self._context = get_context("spawn")
        self._left = deque(self._batches)
        self._workers: list[WorkerProcess] = []
        self._poll = select.poll()
        try:
            for _ in range(min(self._jobs, len(self._cases))):
                self._start()
            while self._left or any(worker.batch for worker in self._workers):
                yield from self._round(waiting)
            for worker in self._workers:
                if worker.ready:
                    worker.give(())  # it exits now, by itself
            for worker in self._workers:
                if worker.ready:
                    worker.process.join(GRACE_S)
        except (KeyboardInterrupt, GeneratorExit):
            self._deliver()
            raise
        finally:
            for worker in self._workers:
                worker.end()

    def _deliver(self) -> None:
        """Reads what workers have come to before they are ended. One that is between two cases answers that
        it goes on with nothing; who does not answer is busy with a case that takes long."""
        from multiprocessing.connection import wait

        until = time.monotonic() + DELIVERY_S
        busy = [worker for worker in self._workers if worker.batch]
        for worker in busy:
            worker.drop(worker.batch)
        while busy and (left := until - time.monotonic()) > 0.0:
            ready = wait([worker.connection for worker in busy], timeout=left)
            for worker in [each for each in busy if each.connection in ready]:
                try:
                    message = worker.connection.recv()
                except (EOFError, OSError, pickle.UnpicklingError):
                    busy.remove(worker)
                    continue
                if message == DROPPED:
                    worker.dropping -= 1
                elif message != READY:
                    self.delivered += self._outcome(worker, message)
                if not worker.dropping:
                    busy.remove(worker)

    def leave_out(self, positions: Collection[int]) -> None:
        """These need not be carried out any more, where they have not begun."""
        left = ([each for each in batch if each not in positions] for batch in self._left)
        self._left = deque(batch for batch in left if batch)

    def _round(self, waiting: Callable[[], AbstractContextManager[None]]) -> Iterator[Outcome]:
        patience = self._patience()
        with waiting():
            ready = dict(self._poll.poll(None if patience is None else 1000 * patience))
        now = time.monotonic()
        for worker in tuple(self._workers):
            if worker.connection.fileno() in ready:
                yield from self._heard(worker)
            elif worker.ready and not worker.batch:
                self._feed(worker)
            elif self._overdue(worker, now):
                text = (
                    f"not done after {self._attempts.timeout_s:g} s (--timeout), and deaf to the alarm: "
                    "its process was ended"
                )
                yield from self._lost(worker, Reason.TIMEOUT, text)

    def _patience(self) -> float | None:
        limit = self._attempts.timeout_s
        idle = any(worker.ready and not worker.batch for worker in self._workers)
        if idle and any(len(worker.batch) > 1 for worker in self._workers):
            return SLOW_S if limit <= 0.0 else min(SLOW_S, limit)
        return None if limit <= 0.0 else min(1.0, limit)

    def _overdue(self, worker: WorkerProcess, now: float) -> bool:
        limit = self._attempts.timeout_s
        return limit > 0.0 and bool(worker.batch) and now - worker.since > limit + GRACE_S

    def _heard(self, worker: WorkerProcess) -> Iterator[Outcome]:
        try:
            message = worker.connection.recv()
        except (EOFError, ConnectionResetError, pickle.UnpicklingError):
            worker.process.join(GRACE_S)
            if not worker.ready:
                raise worker.unstartable() from None
            if worker.batch:
                yield from self._lost(worker, *worker.epitaph())
            else:
                self._dismiss(worker)
            return
        worker.since = time.monotonic()
        if message == READY:
            worker.ready = True
        elif message == DROPPED:
            worker.dropping -= 1
        else:
            sound = message[2]
            yield from self._outcome(worker, message)
            if self._apart or not sound:
                self._put_back(worker)
                if sound:
                    worker.give(())
                self._dismiss(worker, at_once=not sound)
                self._replace()
                return
        if not worker.batch:
            self._feed(worker)

    def _outcome(self, worker: WorkerProcess, message: tuple[int, Entry, bool]) -> Iterator[Outcome]:
        """What a worker says of a case, unless it is to be tried again, or another one is busy with it."""
        position, entry, _ = message
        owners = (each for each in self._workers if position in list(each.batch)[1:])  # took it over
        owner = worker if position in worker.batch else next(owners, None)
        if owner is not None:
            owner.batch.remove(position)
            if owner is not worker:
                owner.drop((position,))
            yield from self._ended(position, entry)

    def _feed(self, worker: WorkerProcess) -> None:
        if batch := self._left.popleft() if self._left else self._taken_over():
            worker.give(list(self._messages(batch)))

    def _messages(self, positions: Iterable[int]) -> Iterator[CaseMessage]:
        for position in positions:
            case = self._cases[position]
            yield position, self._numbers[id(case.kernel)], case.key, case.extent, case.skip, case.explain

    def _taken_over(self) -> list[int]:
        """The later half of what waits behind a case that takes long; it may be one that never ends."""
        slow = time.monotonic() - SLOW_S
        waiting = [worker for worker in self._workers if len(worker.batch) > 1 and worker.since < slow]
        if not waiting:
            return []
        worker = max(waiting, key=lambda each: len(each.batch))
        later = [worker.batch.pop() for _ in range(len(worker.batch) // 2)][::-1]
        worker.drop(later)
        return later

    def _start(self) -> None:
        worker = WorkerProcess(self._context, self._payload)
        self._workers.append(worker)
        self._poll.register(worker.connection.fileno(), select.POLLIN)

    def _remove(self, worker: WorkerProcess) -> None:
        self._workers.remove(worker)
        self._poll.unregister(worker.connection.fileno())

    def _dismiss(self, worker: WorkerProcess, *, at_once: bool = False) -> None:
        self._remove(worker)
        if not at_once:
            worker.process.join(GRACE_S)
        worker.end()

    def _put_back(self, worker: WorkerProcess) -> None:
        """What is left of its batch is another one's."""
        if worker.batch:
            self._left.appendleft(list(worker.batch))
            worker.batch.clear()

    def _replace(self) -> None:
        if self._left:
            self._start()

    def _ended(self, position: int, entry: Entry) -> Iterator[Outcome]:
        """The outcome of a case, unless it is to be tried once more."""
        if self._retries.again(position, entry):
            self._left.appendleft([position])
        else:
            yield position, self._retries.told(position, entry)

    def _lost(self, worker: WorkerProcess, reason: Reason, text: str) -> Iterator[Outcome]:
        """Blame the case the worker was busy with, and give the rest of its batch to a new worker."""
        position = worker.batch.popleft()
        self._put_back(worker)
        self._remove(worker)
        worker.end()
        failed = self._attempts.gone_wrong(self._cases[position], reason, text)
        yield from self._ended(position, Entry(failed))
        self._replace()


def carried_out(attempts: Attempts, case: Case, rounds: int) -> Measurement:
    """One case by itself: its processes one after the other."""

    collected = Rounds(attempts, rounds, most=MOST * rounds)
    while left := collected.left((case,), (0,), by_case=False):
        pool = Pool(attempts, (case,) * len(left), 1, apart=True)
        for number, entry in pool.outcomes():
            if (whole := collected.take(case, left[number], entry)) is not None:
                return whole.measurement
    raise AssertionError("a pool gave no outcome for a case")
