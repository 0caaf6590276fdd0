"""The tiny machine with cases that do what no case should, each a mode of its kernel.

`registry(*modes)` as in `tiny_machine`; importable by name, so that worker processes can load it too.
"""

from __future__ import annotations

import atexit
import builtins
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import tiny_machine as tiny

from trnbench import Observation
from trnbench.registry import Registry

FOREVER_S = 3600.0


class Strange:
    """An object that answers nothing without raising."""

    def __getattr__(self, name: str) -> Any:
        raise ZeroDivisionError(name)

    def __repr__(self) -> str:
        raise ZeroDivisionError("no words")

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError("no likeness")

    __hash__ = None  # type: ignore[assignment]


class Unheard(BaseException):
    """No Exception, and nobody's."""


class Hostile(tiny.Actor):
    """Each method is a mode; what it returns, where it returns, is what the case comes to."""

    def _well(self) -> Observation:
        return self._seen(tiny.FLOPS / tiny.SPEEDS["half"])

    # Ends.

    def _sys_exit(self) -> Observation:
        sys.exit(0)

    def _exit_0(self) -> Observation:
        os._exit(0)

    def _kill(self) -> Observation:
        os.kill(os.getpid(), signal.SIGKILL)
        return self._hang()

    def _segfault(self) -> Observation:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        ctypes.string_at(0)
        return self._hang()

    def _abort(self) -> Observation:
        signal.signal(signal.SIGABRT, signal.SIG_DFL)
        os.abort()

    def _keyboard_interrupt(self) -> Observation:
        raise KeyboardInterrupt("mine, not the user's")

    def _unheard(self) -> Observation:
        raise Unheard("of")

    def _raise_strange(self) -> Observation:
        raise RuntimeError(Strange())

    def _recursion(self) -> Observation:
        return self._recursion()

    def _exits_at_the_end(self) -> Observation:
        atexit.register(os._exit, 0)
        return self._well()

    # Does not end.

    def _hang(self) -> Observation:
        while True:
            time.sleep(FOREVER_S)

    def _deaf(self) -> Observation:
        signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
        return self._hang()

    def _stubborn(self) -> Observation:
        while True:
            try:
                time.sleep(FOREVER_S)
            except BaseException:
                continue

    def _thread(self) -> Observation:
        threading.Thread(target=time.sleep, args=(FOREVER_S,)).start()
        return self._well()

    # Leaves something behind.

    def _grandchild(self) -> Observation:
        subprocess.run(["sh", "-c", f"setsid sleep {FOREVER_S} >/dev/null 2>&1 </dev/null &"], check=True)
        return self._well()

    # Writes where others write.

    def _print(self) -> Observation:
        print("printed by a case")
        return self._well()

    def _descriptor(self) -> Observation:
        os.write(1, b"written by a case\n")
        return self._well()

    def _close_stdout(self) -> Observation:
        sys.stdout.close()
        return self._well()

    def _close_descriptors(self) -> Observation:
        os.close(1)
        os.close(2)
        return self._well()

    def _escapes(self) -> Observation:
        raise RuntimeError("\x1b]0;owned\x07\x1b[2J\r\n\x00\udc80\u202e")

    # Changes the world.

    def _folder(self) -> Observation:
        os.chdir("/")
        return self._well()

    def _umask(self) -> Observation:
        os.umask(0o777)
        return self._well()

    def _environment(self) -> Observation:
        os.environ.clear()
        return self._well()

    def _signals(self) -> Observation:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)
        return self._well()

    def _builtins(self) -> Observation:
        builtins.len = lambda _: 3  # type: ignore[assignment]
        builtins.open = None  # type: ignore[assignment]
        builtins.isinstance = lambda *_: False  # type: ignore[assignment]
        return self._well()

    def _clock(self) -> Observation:
        time.monotonic = time.perf_counter = time.time = lambda: 0.0
        return self._well()

    def _library(self) -> Observation:
        import json

        json.dumps = json.loads = None  # type: ignore[assignment]
        os.write = os.pwrite = os.replace = None  # type: ignore[assignment]
        return self._well()

    def _modules(self) -> Observation:
        for name in [each for each in sys.modules if each.startswith("trnbench")]:
            del sys.modules[name]
        sys.path.clear()
        return self._well()

    def _shallow(self) -> Observation:
        sys.setrecursionlimit(60)
        return self._well()

    # Returns what is none.

    def _none(self) -> Any:
        return None

    def _strange(self) -> Any:
        return Strange()

    def _generator(self) -> Any:
        yield self._well()

    def _negative(self) -> Observation:
        return self._seen(-1.0)

    def _time_of_text(self) -> Observation:
        return self._seen("fast")  # type: ignore[arg-type]

    def _detail_of_strange(self) -> Observation:
        return self._seen(0.01, detail={"it": Strange()})

    def _detail_of_itself(self) -> Observation:
        detail: dict[str, Any] = {}
        detail["it"] = detail
        return self._seen(0.01, detail=detail)

    def _enormous(self) -> Observation:
        return self._seen(0.01, detail={"it": "x" * 50_000_000})

    def _memory(self) -> Observation:
        size = 1 << 40
        return self._seen(0.01, detail={"it": len(bytearray(size))})


GROUPS = {
    "ends": ("sys_exit", "exit_0", "kill", "segfault", "abort"),
    "raises": ("keyboard_interrupt", "unheard", "raise_strange", "recursion", "exits_at_the_end", "memory"),
    "does not end": ("hang", "deaf", "stubborn"),
    "leaves or writes": ("thread", "grandchild", "print", "descriptor", "escapes"),
    "closes": ("close_stdout", "close_descriptors"),
    "changes the world": ("folder", "umask", "environment", "signals", "clock", "shallow"),
    "changes Python": ("builtins", "library", "modules"),
    "returns": ("none", "strange", "generator", "negative", "time_of_text"),
    "returns too much": ("detail_of_strange", "detail_of_itself", "enormous"),
}
"""Modes that are tried in one run, the one behind the other."""


def registry(*modes: str) -> Registry:
    return tiny.registry(*modes, backend=Hostile())
