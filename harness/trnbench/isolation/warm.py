"""A warm process: it has loaded what work needs, and forks a process for each piece of it.

Below its keeper, it adopts whatever a piece of work leaves behind, and ends that with the piece. A piece that
ends the warm process itself costs no more than a new one.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from trnbench.isolation.child import Lost
from trnbench.isolation.keeper import (
    adopt,
    collected,
    end_descendants,
    ended,
    forked,
    kept,
    kill_group,
    last_with,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from multiprocessing.connection import Connection

LONGEST_RESULT = 64 << 20
"""Bytes of one result; a process that sends more is ended."""

GRACE_S = 2.0
"""This much after a limit the warm process itself is taken to be stopped."""

START_S = 60.0
"""For a warm process to be ready. That is no time of the piece that waits for it: a copy of a large process
takes seconds on a busy machine."""

_HEAD = 8  # bytes of a result's length, before it


class Ending(NamedTuple):
    """How a piece of work ended: with its `result`; else `late`, after its limit, or `lost`: in words how."""

    result: bytes = b""
    late: bool = False
    lost: str = ""


class Warm:
    """Carries out `work`, bytes to bytes, each time in a process of its own.

    It begins as a copy of this process and calls `prepare`. A piece has a process group, no
    input, no output, none of the descriptors of this process, and no core file.
    """

    def __init__(self, work: Callable[[bytes], bytes], prepare: Callable[[], None]) -> None:
        self._work, self._prepare = work, prepare
        self._server: tuple[int, Connection] | None = None
        self._starter: Executor | None = None
        self.starts = 0

    def ask(self, question: bytes, seconds: float, memory: int) -> Ending:
        """What `work` makes of `question` within `seconds`, with `memory` bytes more than are taken now."""
        fresh = self._server is None
        self._server = self._server or self._started()
        connection = self._server[1]
        try:
            connection.send((question, seconds, memory))
            ready = not fresh or (connection.poll(START_S) and connection.recv())
            if ready and connection.poll(seconds + GRACE_S):
                return Ending(*connection.recv())
            lost = Ending(late=True)
        except (EOFError, OSError):
            lost = Ending(lost="ended the process that started it")
        except BaseException:
            self.close()
            raise
        self.close()
        return lost

    def close(self) -> None:
        """Ends the warm process and all that it started; a later question starts a new one."""
        if self._server is not None:
            process, connection = self._server
            self._server = None
            connection.close()
            ended(process)
        if self._starter is not None:
            self._starter.shutdown()
            self._starter = None

    def _started(self) -> tuple[int, Connection]:
        if threading.current_thread() is threading.main_thread():
            return self._begun()
        from concurrent.futures import ThreadPoolExecutor

        # The system takes the thread that forks for the parent: one that stays, whoever asks.
        self._starter = ThreadPoolExecutor(1)
        return self._starter.submit(self._begun).result()

    def _begun(self) -> tuple[int, Connection]:
        from multiprocessing import Pipe

        ours, theirs = Pipe()
        self.starts += 1
        pid = forked()
        if pid == 0:
            try:
                ours.close()
                kept(closed=(theirs.fileno(),))
                _serve(self._work, self._prepare, theirs)
            finally:
                os._exit(1)
        theirs.close()
        return pid, ours


def _serve(work: Callable[[bytes], bytes], prepare: Callable[[], None], theirs: Connection) -> None:
    """In the warm process, until nobody asks any more."""
    adopt()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks decides what Ctrl-C means
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = (
        open(number, "w", errors="replace", closefd=False)  # noqa: SIM115
        for number in (1, 2)
    )
    prepare()
    taken = _address_space()
    gc.collect()
    gc.freeze()  # a look at what is there already would copy all of it
    with suppress(EOFError, OSError):
        theirs.send(True)  # ready
        while True:
            question, seconds, memory = theirs.recv()
            theirs.send(_carried_out(work, question, seconds, taken + memory))


def _carried_out(work: Callable[[bytes], bytes], question: bytes, seconds: float, memory: int) -> Ending:
    until = time.monotonic() + seconds
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(work, question, writing, seconds, memory)
    os.close(writing)
    watched = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1  # Linux
    try:
        result = _result(reading, watched, until)
    finally:
        os.close(reading)
        if watched >= 0:
            os.close(watched)
    code = None
    if result == b"":  # closed without a result: it ended, ends by itself, or has closed all it had
        code = collected(pid, until)
    kill_group(pid)
    if code is None:
        os.waitpid(pid, 0)
    end_descendants()
    if result is None or (not result and code is None):
        return Ending(late=True)
    return Ending(result) if result else Ending(lost=Lost(code or 0).how)


def _result(reading: int, process: int, until: float) -> bytes | None:
    """What was sent as a whole; b"" where the other end closed or `process` ended before, None after `until`.

    What a process leaves behind may hold its end open.
    """
    ready = select.poll()
    ready.register(reading, select.POLLIN)
    if process >= 0:
        ready.register(process, select.POLLIN)
    parts, size, wanted = [], 0, _HEAD
    while size < wanted:
        left = until - time.monotonic()
        if left <= 0.0 or not (there := ready.poll(left * 1000.0 + 1.0)):
            return None
        if all(descriptor == process for descriptor, _ in there):
            return b""
        part = os.read(reading, 1 << 20)
        if not part:
            return b""
        parts.append(part)
        size += len(part)
        if wanted == _HEAD and size >= _HEAD:
            parts = [b"".join(parts)]
            wanted += min(int.from_bytes(parts[0][:_HEAD]), LONGEST_RESULT)
    return b"".join(parts)[_HEAD:wanted]


def _child(
    work: Callable[[bytes], bytes], question: bytes, writing: int, seconds: float, memory: int
) -> NoReturn:
    try:
        os.setsid()
        last_with(os.getppid())
        os.closerange(3, writing)
        os.closerange(writing + 1, 1 << 20)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _lower(resource.RLIMIT_AS, memory)
        _lower(resource.RLIMIT_CPU, int(2 * seconds) + 2)  # should everybody else be gone
        result = work(question)
        data = len(result).to_bytes(_HEAD) + result
        while data:
            data = data[os.write(writing, data) :]
    finally:
        os._exit(1)


def _lower(kind: int, wanted: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard in (resource.RLIM_INFINITY, -1) or wanted < hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (wanted, wanted))


def _address_space() -> int:
    """Bytes of addresses that this process uses; enough for any where /proc does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 1 << 50
