"""The command carried out in forked processes: each starts where all modules are loaded, and costs no start.

As a program it answers one request a line, JSON on both sides: `Forks` in `forks.py` is its other end. In one
process `carried_out(request)` does the same; that process should have no threads.

A request has `words` and `folder`, and may have: `env` (None takes a name away), `modes` of the tiny machine
or of another `machine` (without them the plugins that are installed), `path` (folders before `sys.path`),
`before` ([module, function, arguments…] called before the command), `stdin`, `kill_s` (SIGKILL then),
`limit_s` (likewise, and the answer says so), `memory` (RLIMIT_AS beyond what is used), `room` (RLIMIT_FSIZE).

The answer: `code` (-9 for SIGKILL), `stdout`, `stderr`, `cpu_s`, `wall_s`, `peak_bytes`, `recorded` (cases
that were said to be safe), `late` (ended by `limit_s`), `left` (descendants that outlived the command by
ten seconds, ended now).
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
import weakref
from collections.abc import Iterator
from typing import Any

LIMIT_S = 120.0
"""Of a command, where nothing else is said: the machine may be busy with other things."""

GRACE_S = 10.0
"""For a process that a command started to notice that the command has ended."""

_PR_SET_CHILD_SUBREAPER = 36
_USUAL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGALRM)


def carried_out(request: dict[str, Any]) -> dict[str, Any]:
    """The command of one request, in a process of its own; see above."""
    with (
        _memory_file("stdout") as out,
        _memory_file("stderr") as err,
        _memory_file("stdin") as given,
        _memory_file("recorded") as recorded,
    ):
        os.write(given, str(request.get("stdin", "")).encode("utf-8", "surrogateescape"))
        os.lseek(given, 0, os.SEEK_SET)
        sys.stdout.flush()
        sys.stderr.flush()
        others = _children()
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            _as_child(request, given, out, err, recorded)  # does not return
        status, used, late = _waited(child, request, began)
        return {
            "code": os.waitstatus_to_exitcode(status),
            "stdout": _text(out),
            "stderr": _text(err),
            "cpu_s": used.ru_utime + used.ru_stime,
            "wall_s": time.monotonic() - began,
            "peak_bytes": used.ru_maxrss * 1024,
            "recorded": os.fstat(recorded).st_size,
            "late": late,
            "left": _ended_descendants(others),
        }


def _waited(child: int, request: dict[str, Any], began: float) -> tuple[int, resource.struct_rusage, bool]:
    limit_s = float(request.get("limit_s", LIMIT_S))
    kill_s = float(request.get("kill_s", limit_s))
    ended = os.pidfd_open(child)
    late = False
    try:
        if not select.select([ended], [], [], max(0.0, began + min(kill_s, limit_s) - time.monotonic()))[0]:
            late = kill_s >= limit_s
            os.kill(child, signal.SIGKILL)
    finally:
        os.close(ended)
    _, status, used = os.wait4(child, 0)
    return status, used, late


def _ended_descendants(others: set[int]) -> int:
    """Ends what the command left behind, which this process has by now beside its `others`; how many did not
    end by themselves."""
    count = 0
    deadline = time.monotonic() + GRACE_S
    while left := _children() - others:
        for each in left:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(each, os.WNOHANG)[0] or time.monotonic() < deadline:
                    continue
                count += 1
                os.kill(each, signal.SIGKILL)
                os.waitpid(each, 0)
        time.sleep(0.01)
    return count


def _children() -> set[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as stream:
        return {int(each) for each in stream.read().split()}


def _as_child(request: dict[str, Any], given: int, out: int, err: int, recorded: int) -> None:
    code = 70
    try:
        weakref.finalize._registry.clear()  # type: ignore[attr-defined]  # the parent's folders are its own
        os.setsid()
        for number in _USUAL:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for descriptor, place in ((given, 0), (out, 1), (err, 2)):
            os.dup2(descriptor, place)
        os.chdir(request["folder"])
        for name, value in request.get("env", {}).items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        sys.path[:0] = request.get("path", ())
        importlib.invalidate_caches()
        code = _command(request, recorded)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BaseException):
                stream.flush()
        os._exit(code)


def _command(request: dict[str, Any], recorded: int) -> int:
    from trnbench.cli.main import cli
    from trnbench.isolation.guard import guarded
    from trnbench.terminal.context import Session

    _acknowledge(recorded)
    shared = Session()
    if "modes" in request:
        machine = importlib.import_module(request.get("machine", "tiny_machine"))
        shared.registry = machine.registry(*request["modes"])
    for module, function, *arguments in request.get("before", ()):
        getattr(importlib.import_module(module), function)(*arguments)
    if "room" in request:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["room"], resource.RLIM_INFINITY))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if "memory" in request:
        with open("/proc/self/statm", encoding="ascii") as stream:
            used = int(stream.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + request["memory"], resource.RLIM_INFINITY))
    sys.argv = ["trnbench", *request["words"]]
    try:
        guarded(lambda: cli.main(obj=shared))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1


def _acknowledge(recorded: int) -> None:
    """Each case that a run takes for safe adds a byte to the file `recorded`."""
    from trnbench.store.recording import Recording

    add = Recording.add

    def acknowledged(self: Recording, *arguments: Any) -> None:
        add(self, *arguments)
        os.write(recorded, b".")

    Recording.add = acknowledged  # type: ignore[method-assign]


@contextlib.contextmanager
def _memory_file(name: str) -> Iterator[int]:
    descriptor = os.memfd_create(name)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _text(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0).decode("utf-8", "backslashreplace")


def ready() -> None:
    """Load what commands load, so that a forked process need not; and take up orphans."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    import tempfile

    with tempfile.TemporaryDirectory() as folder, _memory_file("modules") as names:
        for words in (["run"], ["export", "-o", "r.json"], ["store", "repair"], ["fabric", "run", "-h"]):
            carried_out(
                {
                    "words": words,
                    "folder": folder,
                    "env": {"TRNBENCH_STORE": f"{folder}/r.db"},
                    "modes": ["half", "low"],
                    "before": [["forked", "_tell_modules", names]],
                }
            )
        for name in dict.fromkeys(_text(names).split()):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def _tell_modules(descriptor: int) -> None:
    atexit.register(lambda: os.write(descriptor, (" ".join(sys.modules) + "\n").encode()))


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    ready()
    for line in requests:
        answers.write(json.dumps(carried_out(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    sys.modules["forked"] = sys.modules["__main__"]
    _serve()
