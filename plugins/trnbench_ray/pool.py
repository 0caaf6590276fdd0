"""Cases on many machines: a process, or a machine, that is lost costs one case."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from trnbench import Case, Reason
from trnbench.run.attempt import Attempts, Outcome, Retries
from trnbench.run.executor import CutShort
from trnbench.run.pool import GRACE_S, pack
from trnbench.store.entry import Entry
from trnbench_ray.cluster import Cluster, Machine, Server, lines_of, on_machine

BATCH = 16
"""Cases handed out in one call, at most: few enough that all processes end at about the same time."""

START_S = 120.0
"""For a first process to start. Other jobs of the cluster may hold what it needs: that is waited for."""

BOOT_S = 30.0
"""What a case's own process, below the one that Ray started, may take before and after the case."""


class _Seat:
    """One process on one machine (any, where `machine` is None) and the cases it was given."""

    def __init__(self, actor: Any, machine: Machine | None) -> None:
        self.actor, self.machine = actor, machine
        self.starting: Any = actor.ready.remote()
        self.batch: list[int] = []
        self.answer: Any = None
        self.since = time.monotonic()

    @property
    def awaited(self) -> Any:
        """What it answers next; None while it has nothing to do."""
        return self.starting or self.answer

    @property
    def place(self) -> str:
        return f"machine {self.machine.number} of the cluster" if self.machine else "a machine of the cluster"


class ClusterPool:
    """Measured cases: one process on each of `machines`, which has all of `resource` there, one case at a
    time, each in a process of its own below it. Others: `jobs` processes, wherever a processor is free."""

    def __init__(
        self,
        cluster: Cluster,
        attempts: Attempts,
        cases: Sequence[Case],
        *,
        machines: Sequence[Machine],
        resource: str,
        jobs: int,
        retries: int,
    ) -> None:
        self._cluster, self._ray = cluster, cluster.ray
        self._attempts, self._cases = attempts, cases
        self._machines, self._resource = tuple(machines), resource
        self._jobs = jobs or cluster.processors()
        self._retries = Retries(retries)
        self._payload = pack(attempts, cases)
        most = max(1, min(BATCH, len(cases) // (8 * max(self._jobs, 1))))
        self._batch = 1 if machines or attempts.timeout_s > 0.0 else most  # a limit is that of one case
        self._alone: set[int] = set()
        self.notes: list[str] = []

    def outcomes(
        self, waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> Generator[Outcome]:
        """Every case once. Raises `CutShort` when no machine is left. Processes end with the iterator."""
        self._left = deque(range(len(self._cases)))
        self._seats: list[_Seat] = []
        self._kept = self._ray.put(self._payload)
        self._why = ""
        try:
            for number in range(min(len(self._machines) or self._jobs, len(self._cases))):
                self._sit(self._machines[number] if self._machines else None)
            while self._left or any(seat.batch for seat in self._seats):
                if not self._seats:
                    raise self._gone()
                yield from self._round(waiting)
        finally:
            for seat in self._seats:
                self._end(seat)

    def leave_out(self, positions: Collection[int]) -> None:
        """These need not be carried out any more, where they have not begun."""
        self._left = deque(case_ for case_ in self._left if case_ not in positions)

    def _sit(self, machine: Machine | None) -> None:
        options: dict[str, Any] = {"max_restarts": 0, "max_task_retries": 0}
        if machine is None:
            options |= {"num_cpus": 1, "scheduling_strategy": "SPREAD"}
        else:
            options |= self._cluster.on(machine.node, **_whole(self._resource, machine.amount))
        actor = self._ray.remote(Server).options(**options).remote(self._kept, machine is not None)
        self._seats.append(_Seat(actor, machine))

    def _round(self, waiting: Callable[[], AbstractContextManager[None]]) -> Iterator[Outcome]:
        self._wake()
        by_ref = {seat.awaited: seat for seat in self._seats if seat.awaited is not None}
        with waiting():
            ready, _ = self._ray.wait(list(by_ref), num_returns=1, timeout=1.0)
        for ref in ready:
            yield from self._heard(by_ref[ref], ref)
        now = time.monotonic()
        for seat in tuple(self._seats):
            if seat.starting and now - seat.since > START_S:
                self._unstarted(seat, f"{seat.place} did not begin within {START_S:g} s: other jobs hold it")
            elif seat.batch and self._overdue(seat, now):
                text = (
                    f"not done after {self._attempts.timeout_s:g} s (--timeout), and {seat.place} "
                    "did not answer: the process there was ended"
                )
                yield from self._lost(seat, Reason.TIMEOUT, text)

    def _overdue(self, seat: _Seat, now: float) -> bool:
        limit = self._attempts.timeout_s
        return limit > 0.0 and now - seat.since > limit + GRACE_S + (BOOT_S if seat.machine else 0.0)

    def _heard(self, seat: _Seat, ref: Any) -> Iterator[Outcome]:
        errors = self._ray.exceptions
        try:
            answer = self._ray.get(ref)
        except errors.RayError as error:
            if seat.starting:
                self._unstarted(seat, f"{seat.place} could not begin: {lines_of(error)[-1]}")
            elif isinstance(error, errors.RayActorError):
                text = f"{seat.place} is gone, or its process that ran the case"
                yield from self._lost(seat, Reason.CRASH, text)
            else:
                text = f"{seat.place} could not carry it out: {lines_of(error)[-1]}"
                yield from self._blamed(seat, Reason.CRASH, text)
                self._feed(seat)
            return
        positions, seat.batch = seat.batch, []
        if seat.starting:
            seat.starting = None
        else:
            for position, entry in zip(positions, answer, strict=True):
                if seat.machine:
                    entry = on_machine(entry, seat.machine.number)
                yield from self._ended(position, entry)
        self._feed(seat)

    def _feed(self, seat: _Seat) -> None:
        seat.batch, seat.answer = [], None
        while self._left and len(seat.batch) < self._batch:
            alone = self._left[0] in self._alone
            if not (alone and seat.batch):
                seat.batch.append(self._left.popleft())
            if alone:
                break
        if seat.batch:
            seat.answer = seat.actor.run.remote(seat.batch)
        seat.since = time.monotonic()

    def _ended(self, position: int, entry: Entry) -> Iterator[Outcome]:
        if self._retries.again(position, entry):
            self._left.appendleft(position)
        else:
            yield position, self._retries.told(position, entry)

    def _blamed(self, seat: _Seat, reason: Reason, text: str) -> Iterator[Outcome]:
        """What was not answered: of several cases nobody knows which it was, so each is tried by itself."""
        positions, seat.batch = seat.batch, []
        if len(positions) > 1:
            self._alone.update(positions)
            self._left.extendleft(reversed(positions))
            return
        for position in positions:
            failed = Entry(self._attempts.gone_wrong(self._cases[position], reason, text))
            yield from self._ended(position, failed)

    def _lost(self, seat: _Seat, reason: Reason, text: str) -> Iterator[Outcome]:
        outcomes = list(self._blamed(seat, reason, text))
        self._leave(seat)
        # A machine that left the cluster shows when nothing starts on it again.
        if self._left:
            self._sit(seat.machine)
        yield from outcomes

    def _wake(self) -> None:
        """Those that ran out of cases are given what came back."""
        for seat in self._seats:
            if self._left and not seat.starting and not seat.batch:
                self._feed(seat)

    def _unstarted(self, seat: _Seat, why: str) -> None:
        self._leave(seat)
        self._why = why
        self.notes.append(why)

    def _leave(self, seat: _Seat) -> None:
        self._seats.remove(seat)
        self._end(seat)

    def _end(self, seat: _Seat) -> None:
        with suppress(Exception):  # it may be gone, or the cluster is
            self._ray.kill(seat.actor, no_restart=True)

    def _gone(self) -> CutShort:
        return CutShort(
            "no machine of the cluster is left to carry out cases",
            cause=self._why or "their processes ended",
            try_="ray status; then the same command again",
        )


def _whole(resource: str, amount: float) -> dict[str, Any]:
    """All of it: a case that shares its machine measures its neighbour."""
    if resource == "CPU":
        return {"num_cpus": amount}
    if resource == "GPU":
        return {"num_cpus": 0, "num_gpus": amount}
    return {"num_cpus": 0, "resources": {resource: amount}}
