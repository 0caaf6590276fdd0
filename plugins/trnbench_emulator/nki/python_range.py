"""Python's own `range` in a kernel's file: while it is recorded with shapes only, its loops are the kernel's
loops, as those over `nl.sequential_range` are. In every other use it is what Python has.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trnbench_emulator.nki.loop_index import Index
from trnbench_emulator.nki.recorder_state import STATE
from trnbench_emulator.nki.recording import Recording
from trnbench_emulator.nki.rounds import Rounds

_NAME = "range"


class _Range(type):
    """`isinstance` and attributes as those of Python's class."""

    def __call__(cls, *args: Any) -> Any:
        recorder: Recording | None = STATE.recorder
        if recorder is None or recorder.folds is None:
            return builtins.range(*args)
        if not any(isinstance(each, Index) for each in args):
            plain = builtins.range(*args)  # says what is wrong with them
            return Rounds(plain.start, plain.stop, plain.step, recorder)
        start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
        return Rounds(start, stop, step, recorder)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, (builtins.range, Rounds))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, (builtins.range, Rounds))

    def __eq__(cls, other: object) -> bool:
        return other is builtins.range or other is cls

    def __hash__(cls) -> int:
        return hash(builtins.range)

    def __repr__(cls) -> str:
        return repr(builtins.range)

    def __getattr__(cls, name: str) -> Any:
        return getattr(builtins.range, name)


Range = _Range(_NAME, (), {"__module__": __name__, "__doc__": builtins.range.__doc__})


@contextmanager
def loops_of_python(function: Any) -> Iterator[None]:
    """While open, `range` in the file of `function` makes loops that whoever records it learns of.

    A file that has a `range` of its own keeps it.
    """
    names = getattr(function, "__globals__", None)
    if names is None or _NAME in names:
        yield
        return
    names[_NAME] = Range
    try:
        yield
    finally:
        names.pop(_NAME, None)
