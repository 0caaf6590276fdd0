"""Loops and the program grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.constraints import Rules
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.recording import STATE
from trnbench_emulator.nki.shadow import Independent
from trnbench_emulator.nki.values import LoopNumber, VirtualRegister, whole


def _range(call: str, start: Any, stop: Any, step: int) -> Sequence[int]:
    try:
        return range(start) if stop is None else range(start, stop, step)
    except (TypeError, ValueError) as error:
        raise KernelError(
            f"nl.{call}({start!r}{'' if stop is None else f', {stop!r}, {step!r}'}): {error} ({site.here()})",
            try_="use integers: (size + tile - 1) // tile, not size / tile",
        ) from None


def affine_range(start: int, stop: int | None = None, step: int = 1) -> Sequence[int]:
    """A loop whose rounds do not depend on each other. Carried out in order here."""
    rounds = _range("affine_range", start, stop, step)
    shadow = STATE.recorder and STATE.recorder.shadow
    return Independent(rounds, shadow.loops, shadow.writes) if shadow else rounds


def sequential_range(start: int, stop: int | None = None, step: int = 1) -> Sequence[int]:
    """A loop whose rounds depend on each other."""
    return _range("sequential_range", start, stop, step)


def static_range(start: int, stop: int | None = None, step: int = 1) -> Sequence[int]:
    """A loop that is unrolled."""
    return _range("static_range", start, stop, step)


def dynamic_range(start: Any, stop: Any = None, step: int = 1) -> Iterator[int]:
    """A loop whose bounds may be registers, read when it starts."""
    _on_device("dynamic_range", step)
    return map(LoopNumber, _range("dynamic_range", start, stop, step))


def _on_device(call: str, step: Any = 1) -> None:
    """A loop of the sequencer: its step stands in the instruction, and its order is its own."""
    rules = Rules(call, current().machine)
    rules.require(
        isinstance(step, (int, np.integer)) and int(step) > 0,
        f"step is {step!r}, it must be a positive integer",
    )
    rules.require(current().reordering, "it does not go into nl.no_reorder", try_="nl.no_reorder in its body")


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[VirtualRegister], Any], step: int = 1) -> None:
    """body_fun(i) for every i from lower to upper; i is a register."""
    _on_device("fori_loop", step)
    for number in _range("fori_loop", lower, upper, step):
        body_fun(VirtualRegister(number))


def while_loop(init: VirtualRegister, body_fun: Callable[[VirtualRegister], Any]) -> None:
    """body_fun(r) until the register it returns is 0."""
    _on_device("while_loop")
    condition = init
    while condition:
        condition = body_fun(VirtualRegister(int(condition)))
        if not isinstance(condition, VirtualRegister):
            raise KernelError(
                f"nl.while_loop: the body returned {type(condition).__name__}, no register ({site.here()})",
                cause="the register it returns is the condition of the next round",
            )


def ds(start: Any, size: int) -> slice:
    """The slice of `size` elements from `start`."""
    first = whole(start, "ds: start")
    return slice(first, first + whole(size, "ds: size"))


@contextmanager
def no_reorder() -> Iterator[None]:
    """Keep the order of the instructions inside. It is always kept here."""
    recorder = current()
    before, recorder.reordering = recorder.reordering, False
    try:
        yield
    finally:
        recorder.reordering = before


def program_id(axis: int = 0) -> int:
    """Index of this program: one program runs on one core."""
    recorder = current()
    _axis("program_id", axis)
    recorder.asked = True
    return recorder.program


def num_programs(axes: Any = 0) -> int:
    """How many programs were launched."""
    for axis in axes if isinstance(axes, (tuple, list)) else (0 if axes is None else axes,):
        _axis("num_programs", axis)
    return max(current().grid, 1)


def program_ndim() -> int:
    """0 without a grid, else 1."""
    return int(current().grid > 0)


def _axis(call: str, axis: int) -> None:
    if axis != 0:
        raise KernelError(f"nl.{call}({axis}): the grid has one dimension ({site.here()})")
