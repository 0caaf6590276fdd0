"""Run as a program: the tiny machine, killed with SIGKILL at the step that TINY_KILL names.

`pwrite:7` kills in the middle of the seventh write to a journal, `commit:2` before the second
transaction of the store ends, `replace:1` before a finished file takes its place.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tiny_machine


class Countdown:
    def __init__(self, steps: int) -> None:
        self.left = steps

    def reached(self) -> bool:
        self.left -= 1
        return self.left == 0


def kill_at(step: str, number: int) -> None:
    countdown = Countdown(number)
    if step == "commit":
        from trnbench.store import store

        transaction = store.transaction

        @contextmanager
        def dying(connection: Any) -> Iterator[None]:
            with transaction(connection):
                yield
                if countdown.reached():
                    os.kill(os.getpid(), signal.SIGKILL)

        store.transaction = dying  # type: ignore[assignment]
        return
    real = getattr(os, step)

    def last(*arguments: Any, **more: Any) -> Any:
        if countdown.reached():
            if step == "pwrite":
                descriptor, data, at = arguments
                real(descriptor, data[: len(data) // 2], at)
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **more)

    setattr(os, step, last)


if __name__ == "__main__":
    step, _, number = os.environ["TINY_KILL"].partition(":")
    kill_at(step, int(number))
    sys.argv[0] = "trnbench"
    tiny_machine.main(*os.environ["TINY_MODES"].split(","))
