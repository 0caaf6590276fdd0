"""The tiny machine with cases that do what no case should, each a mode of its kernel.

`registry(*modes)` as in `tiny_machine`; importable by name, so that worker processes can load it too.
"""

from __future__ import annotations

import atexit
import builtins
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
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


def hang() -> None:
    while True:
        time.sleep(FOREVER_S)


def stubborn() -> None:
    while True:
        try:
            time.sleep(FOREVER_S)
        except BaseException:
            continue


def deaf() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
    hang()


def fault(number: signal.Signals, act: Callable[[], object]) -> None:
    signal.signal(number, signal.SIG_DFL)
    act()
    hang()


def raised(error: BaseException) -> None:
    raise error


def endless() -> None:
    endless()


def ignored_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)


def forgotten_modules() -> None:
    for name in [each for each in sys.modules if each.startswith("trnbench")]:
        del sys.modules[name]
    sys.path.clear()


def replaced(module: Any, **members: Any) -> None:
    for name, member in members.items():
        setattr(module, name, member)


ENDS: dict[str, Callable[[], object]] = {
    "sys_exit": lambda: sys.exit(0),
    "exit_0": lambda: os._exit(0),
    "kill": lambda: (os.kill(os.getpid(), signal.SIGKILL), hang()),
    "segfault": lambda: fault(signal.SIGSEGV, lambda: ctypes.string_at(0)),
    "abort": lambda: fault(signal.SIGABRT, os.abort),
    "keyboard_interrupt": lambda: raised(KeyboardInterrupt("mine, not the user's")),
    "unheard": lambda: raised(Unheard("of")),
    "raise_strange": lambda: raised(RuntimeError(Strange())),
    "escapes": lambda: raised(RuntimeError("\x1b]0;owned\x07\x1b[2J\r\n\x00\udc80\u202e")),
    "recursion": endless,
    "hang": hang,
    "deaf": deaf,
    "stubborn": stubborn,
}
"""What keeps a case from its answer."""

BESIDE: dict[str, Callable[[], object]] = {
    "exits_at_the_end": lambda: atexit.register(os._exit, 0),
    "thread": lambda: threading.Thread(target=time.sleep, args=(FOREVER_S,)).start(),
    "grandchild": lambda: subprocess.run(
        ["sh", "-c", f"setsid sleep {FOREVER_S} >/dev/null 2>&1 </dev/null &"], check=True
    ),
    "print": lambda: print("printed by a case"),
    "descriptor": lambda: os.write(1, b"written by a case\n"),
    "close_stdout": lambda: sys.stdout.close(),
    "close_descriptors": lambda: (os.close(1), os.close(2)),
    "folder": lambda: os.chdir("/"),
    "umask": lambda: os.umask(0o777),
    "environment": lambda: os.environ.clear(),
    "signals": ignored_signals,
    "builtins": lambda: replaced(builtins, len=lambda _: 3, open=None, isinstance=lambda *_: False),
    "clock": lambda: replaced(time, **dict.fromkeys(("monotonic", "perf_counter", "time"), lambda: 0.0)),
    "library": lambda: (
        replaced(json, dumps=None, loads=None),
        replaced(os, write=None, pwrite=None, replace=None),
    ),
    "modules": forgotten_modules,
    "shallow": lambda: sys.setrecursionlimit(60),
}
"""What a case does before it answers well."""


class Hostile(tiny.Actor):
    def observe(self, case: Any, system: Any) -> Any:
        mode = str(case.key.point["mode"])
        if mode in ENDS:
            return ENDS[mode]()
        if mode in BESIDE:
            BESIDE[mode]()
            return self._seen(tiny.FLOPS / tiny.SPEEDS["half"])
        return super().observe(case, system)

    # What is returned where an observation is wanted.

    def _none(self) -> Any:
        return None

    def _strange(self) -> Any:
        return Strange()

    def _generator(self) -> Any:
        yield self._seen(0.01)

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
        return self._seen(0.01, detail={"it": len(bytearray(1 << 40))})


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
