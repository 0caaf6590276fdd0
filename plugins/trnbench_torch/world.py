"""All ranks of a collective: this process is rank 0, the others are started by it and obey it.

A call is over when the last rank says so: a broadcast returns at its root long before the others have
anything. What orders and answers take is measured and kept below one per cent of a sample.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec.structs import replace

from trnbench import Program, TrnbenchError, Witness, show
from trnbench.results.statistics import median
from trnbench_torch.collective_data import Task
from trnbench_torch.rank import LEAST, Answer, Order, read_answer, send_order

SURROUND = 100.0
"""A sample lasts this many times what orders and answers take."""

STRAGGLES = 1.25
"""Times the fastest rank's time from which on a rank is named."""


class World:
    """Raises `TrnbenchError` when a rank does not come up. `close` ends the others."""

    def __init__(self, task: Task) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="trnbench-ranks-")
        self.task = replace(task, store=str(Path(self._folder.name) / "meet"))
        self._logs = [Path(self._folder.name) / f"rank{rank}.log" for rank in range(1, task.ranks)]
        self._peers = [self._start(rank) for rank in range(1, task.ranks)]
        self._own: dict[int, Any] = {}
        self._spent: list[list[float]] = [[] for _ in range(task.ranks)]
        try:
            from trnbench_torch.collective_part import join

            join(self.task, 0)
            self._replies("came up")
            self.size = task.size
            self._current = self._part(task.size)
            self._tiny = self._part(LEAST)
            self.overhead_s = self._overhead()
        except BaseException:
            self.close()
            raise

    def program(self) -> Program:
        """The whole task as a program of this process."""
        return self._program(self.task.size)

    def _program(self, size: int) -> Program:
        self._take(size)

        def smaller() -> Program:
            less = self._program(max(LEAST, size // 4))
            return replace(less, close=lambda: self._take(size))

        return Program(
            run=lambda: self.run(1),
            check=lambda _: self.check(),
            awaited=f"every one of the {self.task.ranks} ranks has answered that it has its result",
            checked="on every rank, after a call from fresh buffers, against what all ranks brought",
            amount=float(size),
            smaller=smaller if size > LEAST else None,
            idle=lambda: self._next_to_nothing(1),
            queued=self.run,
            idle_queued=self._next_to_nothing,
            least_s=SURROUND * self.overhead_s,
            ready=self.ready,
            close=self.close,
            witness=self.witness,
            settings={
                "ranks": self.task.ranks,
                "distributed_backend": self.task.backend,
                "order_and_answer_s": self.overhead_s,
            },
            notes=("sums grow in place from call to call, and are made afresh before each sample",)
            if self.task.kernel == "all_reduce"
            else (),
        )

    def run(self, count: int) -> None:
        """`count` calls on every rank; returns when the last one is done with the last of them."""
        self._order(Order.RUN, count)
        start = time.perf_counter()
        for _ in range(count):
            self._current.call()
        self._spent[0].append((time.perf_counter() - start) / count)
        for rank, (seconds, _) in enumerate(self._replies("ran"), 1):
            self._spent[rank].append(seconds / count)

    def ready(self) -> None:
        self._order(Order.READY)
        self._current.ready()
        self._replies("filled its buffers")

    def check(self) -> str:
        """One call from fresh buffers, then what every rank says of its result."""
        self.ready()
        self.run(1)
        self._order(Order.CHECK)
        wrong = [self._current.check(), *(text for _, text in self._replies("looked at its result"))]
        return next(filter(None, wrong), "")

    def witness(self) -> Witness:
        """Which rank the others wait for."""
        typical = [median(each) if each else 0.0 for each in self._spent]
        notes = []
        slow, fast = max(typical), min(typical)
        if fast > 0.0 and slow > STRAGGLES * fast:
            rank = typical.index(slow)
            notes.append(
                f"rank {rank} is the straggler: it is busy for {show(slow, 's')} with a call, rank "
                f"{typical.index(fast)} for {show(fast, 's')}"
            )
        return Witness(notes=tuple(notes), detail={"rank_s": typical})

    def close(self) -> None:
        for peer in self._peers:
            if peer.stdin is not None and peer.poll() is None:
                try:
                    send_order(peer.stdin, Order.END)
                except OSError:
                    peer.kill()
        for peer in self._peers:
            try:
                peer.wait(5.0)
            except subprocess.TimeoutExpired:
                peer.kill()
                peer.wait()
            for pipe in (peer.stdin, peer.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):  # what a rank that is gone did not read
                        pipe.close()
        from torch import distributed as dist

        if dist.is_initialized():
            dist.destroy_process_group()
        self._folder.cleanup()

    # ---- the others

    def _start(self, rank: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "trnbench_torch.rank", str(rank)]
        log: IO[bytes]
        with self._logs[rank - 1].open("wb") as log:
            return subprocess.Popen(
                [*command, msgspec.json.encode(self.task).decode()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )

    def _order(self, order: Order, count: int = 1) -> None:
        for rank, peer in enumerate(self._peers, 1):
            assert peer.stdin is not None
            try:
                send_order(peer.stdin, order, count)
            except OSError:
                raise self._gone(rank, "was told what to do") from None

    def _replies(self, until: str) -> list[tuple[float, str]]:
        """Of each rank, the seconds that the order took and what it says."""
        replies = []
        for rank, peer in enumerate(self._peers, 1):
            assert peer.stdout is not None
            reply = read_answer(peer.stdout)
            if reply is None:
                raise self._gone(rank, until)
            answer, seconds, text = reply
            if answer is Answer.FAILED:
                raise TrnbenchError(f"rank {rank} failed: {text}", try_="trnbench doctor")
            replies.append((seconds, text))
        return replies

    def _gone(self, rank: int, until: str) -> TrnbenchError:
        lines = self._logs[rank - 1].read_text(errors="replace").strip().splitlines()
        return TrnbenchError(
            f"rank {rank} ended before it {until}",
            cause=lines[-1] if lines else "it says nothing",
            try_="trnbench doctor",
        )

    # ---- sizes

    def _part(self, size: int) -> Any:
        if size not in self._own:
            from trnbench_torch.collective_part import Part

            self._own[size] = Part(self.task, 0, size)
        return self._own[size]

    def _take(self, size: int) -> None:
        if size == self.size:
            return
        self._order(Order.SIZE, size)
        self._current = self._part(size)
        self._replies("took another size")
        self.size = size
        self._spent = [[] for _ in self._spent]

    def _next_to_nothing(self, count: int) -> None:
        self._order(Order.NEXT_TO_NOTHING, count)
        for _ in range(count):
            self._tiny.call()
        self._replies("ran on next to nothing")

    def _overhead(self) -> float:
        """Seconds from an order to the last answer to it, with nothing to do."""
        times = []
        for _ in range(30):
            start = time.perf_counter()
            self._order(Order.NOTHING)
            self._replies("answered")
            times.append(time.perf_counter() - start)
        return median(times)
