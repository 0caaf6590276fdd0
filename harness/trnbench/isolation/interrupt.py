"""Whether it was a person, or the system, who interrupted: any code can raise `KeyboardInterrupt`."""

from __future__ import annotations

import signal


class Interrupted(KeyboardInterrupt):
    """Raised by trnbench's own handlers of signals, which have `raises_interrupted`."""


def from_outside(error: BaseException) -> bool:
    """Whether `error` is a `KeyboardInterrupt` that a signal brought.

    Where a program of others has a handler of its own for Ctrl-C, the two cannot be told apart: then it is.
    """
    if not isinstance(error, KeyboardInterrupt) or isinstance(error, Interrupted):
        return isinstance(error, KeyboardInterrupt)
    handler = signal.getsignal(signal.SIGINT)
    return handler != signal.SIG_IGN and not getattr(handler, "raises_interrupted", False)
