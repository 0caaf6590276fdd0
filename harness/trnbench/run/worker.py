"""A process that carries out cases: started and watched by a run, with the cases sent to it."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import pickle
import select
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from trnbench.case_key import CaseKey
from trnbench.errors import BadInput, ExitCode, TrnbenchError
from trnbench.isolation import keeper
from trnbench.isolation.guard import GARBAGE
from trnbench.isolation.keeper import PATIENCE_S, kept
from trnbench.isolation.supervision import refusals, take
from trnbench.isolation.surroundings import Surroundings
from trnbench.kernels.kernel import Case, Kernel
from trnbench.kernels.work import Extent
from trnbench.results.json import loads_value
from trnbench.results.measurement import Grade, Measurement, Reason
from trnbench.store.entry import Entry

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnContext, SpawnProcess

    from trnbench.run.attempt import Attempts


CaseMessage: TypeAlias = tuple[int, int, CaseKey, Extent, str, bool]
"""Its position, the number of its kernel, which a worker has from its start, and the rest of it: so a worker
holds no more cases than it is busy with."""

READY, DROPPED = "ready", "dropped"
"""What a worker sends beside outcomes: that it waits for cases, and that it has heard what it need not do."""


class WorkerLost(TrnbenchError):
    """A worker process did not even start."""

    exit_code = ExitCode.CRASH


class WorkerProcess:
    """One process and what it is busy with: positions of cases, the one under way first."""

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
        with suppress(BrokenPipeError, ConnectionResetError):  # gone: heard of by reading
            self.connection.send_bytes(payload)
        self.ready = False
        self.dropping = 0  # orders to drop cases that it has not answered
        self.batch: deque[int] = deque()
        self.since = time.monotonic()
        self.memory_kills = out_of_memory_kills()

    def give(self, batch: Sequence[CaseMessage]) -> None:
        """Cases to carry out; none for it to end."""
        self.batch.extend(position for position, *_ in batch)
        self.since = time.monotonic()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(list(batch) if batch else None)

    def drop(self, positions: Collection[int]) -> None:
        """These need not be carried out, where they have not begun."""
        if positions:
            self.dropping += 1
            with suppress(BrokenPipeError, ConnectionResetError):
                self.connection.send(frozenset(positions))

    def end(self) -> None:
        """Where it still runs: it, its cases and all that those have started."""
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(PATIENCE_S)
            if self.process.is_alive():  # its keeper waits for what nobody can end
                self.process.kill()
        self.process.join()
        self.connection.close()

    def epitaph(self) -> tuple[Reason, str]:
        """Why it is gone: how the process ended, and whether memory ran out meanwhile."""
        return epitaph(self.process.exitcode, starved=self.memory_kills < out_of_memory_kills())

    def unstartable(self) -> WorkerLost:
        """What to raise where it was gone before it said that it is ready."""
        return WorkerLost(
            f"a worker process did not start (exit code {self.process.exitcode})",
            cause="a script that uses jobs, isolate or timeout_s lacks `if __name__ == '__main__':`, or a "
            "plugin fails to import there",
            try_="that line above what the script does; a command: trnbench plugin list",
        )


def epitaph(code: int | None, *, starved: bool) -> tuple[Reason, str]:
    """What an exit code says of a case that was lost with its process; `starved`: the system ended a process
    for want of memory meanwhile."""
    if code is None:
        return Reason.CRASH, "the process that ran it closed its connection"
    from trnbench.isolation.child import Lost  # few are lost

    text = f"the process that ran it {Lost(code).how}"
    if code != -signal.SIGKILL:
        return Reason.CRASH, text
    if starved:
        return Reason.OUT_OF_MEMORY, f"{text}: the system ran out of memory and counted a process it ended"
    return Reason.CRASH, f"{text}; most often that is the system's out-of-memory killer"


def _set_interrupt(handler: Any) -> None:
    with suppress(ValueError):  # outside the main thread there is nothing to protect from
        signal.signal(signal.SIGINT, handler)


_ROOT = Path("/sys/fs/cgroup")


def out_of_memory_kills() -> int:
    """Processes ended so far, by this control group or, where none is told, by the whole system; else 0."""
    return max(_counts(), default=0)


def _counts() -> Iterator[int]:
    for path in (*_groups(), Path("/proc/vmstat")):
        try:
            lines = path.read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            key, _, value = line.partition(" ")
            if key == "oom_kill" and value.strip().isdigit():
                yield int(value)


def _groups() -> Iterator[Path]:
    """The files of this process's group, versions 2 and 1 of the interface."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = (*line.split(":", 2), "", "")[:3]
        if not controllers:
            yield _ROOT / place.lstrip("/") / "memory.events"
        elif "memory" in controllers.split(","):
            yield _ROOT / "memory" / place.lstrip("/") / "memory.oom_control"


def serve(connection: Connection) -> None:
    """Answers batches of cases one outcome at a time, until it is sent None or left alone: position, what is
    kept of it, and whether this process is as it was before the case: else another one is to go on.

    Runs below a keeper, which ends what the cases started.
    """
    # The parent decides what Ctrl-C means; this process ends when it is told to, or left alone.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kept(closed=(connection.fileno(),))
    # What native code prints must not end up between the data on the parent's stdout.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _first_to_go()
    process = os.getpid()
    try:
        attempts, kernels = loads(connection.recv_bytes())
        if attempts.unseen.grade is Grade.EMULATED:
            gc.set_threshold(GARBAGE)
        connection.send(READY)
        for position, kernel, key, extent, skip, explain in _messages(connection):
            case = Case(key=key, kernel=kernels[kernel], extent=extent, skip=skip, explain=explain)
            entry, sound = tried(attempts, case)
            if os.getpid() != process:
                os._exit(1)  # a copy that the case made of this process, and that came back from it
            connection.send((position, entry, sound))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent is gone


def _messages(connection: Connection) -> Iterator[CaseMessage]:
    """Those that the run sends, one by one, but for those that it takes back, until it sends None."""
    told = select.poll()
    told.register(connection.fileno(), select.POLLIN)
    left: deque[CaseMessage] = deque()
    while True:
        while not left or told.poll(0):
            message = connection.recv()
            if message is None:
                return
            if isinstance(message, frozenset):
                left = deque(each for each in left if each[0] not in message)
                connection.send(DROPPED)
            else:
                left.extend(message)
        yield left.popleft()


def tried(attempts: Attempts, case: Case) -> tuple[Entry, bool]:
    """What it came to, and whether the case left nothing behind; processes that it started are ended."""
    before, threads, others = Surroundings(drawn=False), threading.active_count(), keeper.children()
    measurement, document = attempts(case)
    entry = Entry(measurement, document)
    if not attempts.own_backend:  # a backend may have put into it what JSON holds and no measurement does
        try:
            loads_value(document, Measurement, f"the outcome of {case.id}")
        except BadInput as error:
            entry = Entry(attempts.gone_wrong(case, Reason.ERROR, error.what))
    cut = measurement.reason in (Reason.TIMEOUT, Reason.OUT_OF_MEMORY)
    sound = not cut and not before.put_back() and threading.active_count() <= threads
    gone = keeper.end_descendants(spared=others)
    return entry, sound and gone


def _first_to_go() -> None:
    """When memory runs out the kernel ends this process, not the run that it works for."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def dumps(value: Any) -> bytes:
    """`value` as bytes for `loads`. Raises what pickle raises for what cannot be sent.

    The formulas of a kernel are often functions inside functions, which pickle does not take; a kernel that
    an installed plugin brings travels by its name.
    """
    file = io.BytesIO()
    pickle.dump(refusals(), file)
    _Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


def loads(data: bytes) -> Any:
    """What `dumps` was given; installed kernels are looked up."""
    file = io.BytesIO(data)
    take(pickle.load(file))  # a plugin that ended the command would end this process too
    return _Unpickler(file).load()


class _Installed:
    """What reads and writes kernels by their names looks them up once."""

    @cached_property
    def _kernels(self) -> dict[str, Kernel]:
        from trnbench.registry import load_registry

        return load_registry().kernels


class _Pickler(_Installed, pickle.Pickler):
    @cached_property
    def _named(self) -> dict[int, str | None]:
        return {}

    def persistent_id(self, obj: Any) -> str | None:
        if not isinstance(obj, Kernel):
            return None
        if id(obj) not in self._named:
            self._named[id(obj)] = None if _plain(obj) else self._installed(obj)
        return self._named[id(obj)]

    def _installed(self, kernel: Kernel) -> str | None:
        """Its name, where the installed plugins bring the same one."""
        found = self._kernels.get(kernel.name)
        same = found is not None and (found.axes, found.implementations) == (
            kernel.axes,
            kernel.implementations,
        )
        return kernel.name if same else None


class _Unpickler(_Installed, pickle.Unpickler):
    def persistent_load(self, pid: str) -> Kernel:
        return self._kernels[pid]


def _plain(kernel: Kernel) -> bool:
    try:
        pickle.dumps(kernel)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True
