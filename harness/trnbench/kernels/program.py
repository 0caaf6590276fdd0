"""A case made ready to run on a real machine: what a measured stack times, and how it proves itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What an implementation returns: `prepare(point, extent, rng) -> Program`.

    - `run()`: one call. It returns when the work is done, never when it is queued: nothing outside
      waits for it. What it returns is the output, and is handed to `check`.
    - `check(output)`: "" or what is wrong with it, by a way of computing that is not `run`'s own.
    - `awaited`, `checked`: how the two are done, in words. Both are evidence: without them the case fails.
    - `amount`: work of one call, in any unit; `smaller()`: the same program with less of it. A time that
      does not grow from the one to the other is no time of that work.
    - `idle()`: one call without work, where starting one costs more than a function call.
    - `repeats`: how often one call does the work that the kernel's formula counts.
    - `flush()`: empties the caches that matter; None takes the one of the measuring process. `flushed`
      says what it does.
    - `device_clock()`: seconds the last call took by the device's own clock.
    - `counted()`: work the device says the last call did, by the names of `Work.as_counts()`.
    """

    run: Callable[[], Any]
    check: Callable[[Any], str]
    awaited: str
    checked: str
    amount: float = 0.0
    smaller: Callable[[], Program] | None = None
    idle: Callable[[], Any] | None = None
    repeats: float = 1.0
    flush: Callable[[], Any] | None = None
    flushed: str = ""
    device_clock: Callable[[], float] | None = None
    counted: Callable[[], dict[str, float]] | None = None
    close: Callable[[], None] | None = None
    settings: dict[str, str | int | float | bool] = {}
    notes: tuple[str, ...] = ()
