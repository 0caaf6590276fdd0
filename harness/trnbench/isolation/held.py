"""Code of others inside this process: what it may not do is undone, and said."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from trnbench.isolation.limit import CaseTimeout, can_limit, limited
from trnbench.isolation.output import aside
from trnbench.isolation.surroundings import Surroundings

LIMIT_S = 10.0
"""For a plugin's import, for each of its hooks and for a section of the report."""


class Misbehaved(Exception):
    """What others' code did to this process. `what` goes on from its name: "does not end within 10 s"."""

    def __init__(self, what: str, cause: str) -> None:
        super().__init__(what)
        self.what, self.cause = what, cause


class _Exit(BaseException):
    def __init__(self, code: int) -> None:
        self.code = code


@contextmanager
def held() -> Iterator[None]:
    """Plugins' code goes inside.

    Its output goes to standard error. Raises `Misbehaved` when it takes longer than `LIMIT_S` (in the main
    thread), calls `os._exit`, or leaves the process's surroundings changed: they are put back. What it
    raises itself passes; whether a `KeyboardInterrupt` is the user's, `interrupt.from_outside` says.
    """
    with aside():
        before = Surroundings()
        try:
            with _exits_raise(), limited(LIMIT_S if can_limit() else 0.0):
                yield
        except CaseTimeout:
            raise Misbehaved(
                f"does not end within {LIMIT_S:g} s",
                "it waits for something, or computes before it is asked to",
            ) from None
        except _Exit as end:
            raise Misbehaved(
                f"ends the process: os._exit({end.code})", "it does not say what is wrong by an exception"
            ) from None
        finally:
            changed = before.put_back()
        if changed:
            raise Misbehaved(
                f"changes {' and '.join(changed)} of the whole process",
                "what all code shares is not a plugin's to change; it was put back",
            )


@contextmanager
def _exits_raise() -> Iterator[None]:
    """`os._exit` called inside, in this process, is an exception: an end without a word is none."""
    usual, process = os._exit, os.getpid()

    def instead(status: int) -> NoReturn:
        if os.getpid() != process or os._exit is not instead:
            usual(status)
        raise _Exit(status)

    os._exit = instead
    try:
        yield
    finally:
        os._exit = usual
