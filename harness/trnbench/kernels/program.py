"""A case made ready to run on a real machine: what a measured stack times, and how it proves itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine has to say of itself when the last sample is taken: clocks, power, stragglers.

    `doubts` make the number suspect, `notes` are read beside it.
    """

    counters: dict[str, float] = {}
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    detail: dict[str, Any] = {}


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
    - `cold`: judged by the series whose caches were emptied before each sample; needs `flush`.
    - `device_clock()`: seconds the last call took by the device's own clock, whose step is
      `device_tick_s`.
    - `queued(n)`: `n` calls of the same work, its end awaited once, and `idle_queued(n)` as many without
      work: for devices that take their work from a queue. The device's clock then tells of all of them.
    - `least_s`: what a sample has to last, where more than reading a clock is lost around it.
    - `ready()`: called before each sample, outside of it.
    - `witness()`: called once behind the last sample.
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
    cold: bool = False
    device_clock: Callable[[], float] | None = None
    device_tick_s: float = 0.0
    queued: Callable[[int], Any] | None = None
    idle_queued: Callable[[int], Any] | None = None
    least_s: float = 0.0
    ready: Callable[[], Any] | None = None
    witness: Callable[[], Witness] | None = None
    counted: Callable[[], dict[str, float]] | None = None
    close: Callable[[], None] | None = None
    settings: dict[str, str | int | float | bool] = {}
    notes: tuple[str, ...] = ()
