"""One program measured: warm-up, calibration, then cold, hot and batched samples until a rule stops."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from trnbench.backend import Clocks, Growth, Program
from trnbench.facts.units import show
from trnbench.measure.conditions import Watch
from trnbench.measure.sampling import PrecisionReached, Rule, SampleLimit, Taken, TimeLimit, Way, sampled
from trnbench.measure.series import Series, stability
from trnbench.record import Record
from trnbench.results.measurement import Conditions, Stability
from trnbench.results.statistics import median

LARGEST = 1 << 30
"""Bytes written at most: a cache that reports more than this (shared by machines) stays partly warm."""


class Flush(Record, kw_only=True):
    """`run` makes caches cold; `declared` says by what, in the result."""

    run: Callable[[], Any]
    declared: str


def host_flush(cache_bytes: float, *, allowed: int = LARGEST) -> Flush:
    """Writes a buffer larger than the last-level cache (64 MiB where its size is unknown)."""
    import numpy as np

    wanted = int(max(64 << 20, cache_bytes * 1.25))
    size = min(wanted, allowed)
    buffer = np.zeros(size // 8, dtype=np.int64)

    def run() -> None:
        np.add(buffer, 1, out=buffer)

    cache = f"the last-level cache of {show(cache_bytes, 'B')}" if cache_bytes else "an unknown cache"
    words = f"{show(size, 'B')} read and written, against {cache}"
    if size < wanted and cache_bytes > size:
        words += ": less than the cache, partly warm"
    return Flush(run=run, declared=words)


TICKS = 1000
"""A sample lasts at least this many ticks of its clock, so that reading it is 0.1 % at most."""

CALL_S = 5e-6
"""What a call into a library costs before it does any work; measured floors below this are taken as it."""


class Timing(Record, kw_only=True):
    """How long (seconds) and how often; `precision` is half the 95 % interval over the median.

    `rules` replace the three that follow from `precision`, `sample_s` and `samples`.
    """

    warm_up_s: float = 0.05
    warm_up_calls: int = 3
    sample_s: float = 0.5
    samples: int = 2000
    precision: float = 0.02
    cold_samples: int = 3
    cold_s: float = 1.0
    growth_s: float = 0.1
    rules: tuple[Rule, ...] = ()

    def stopping(self, seconds: float) -> tuple[Rule, ...]:
        return self.rules or (
            PrecisionReached(relative=self.precision),
            TimeLimit(seconds=seconds),
            SampleLimit(samples=self.samples),
        )


class Watching(Protocol):
    """Whoever looks at the machine while samples are taken: `Watch`, unless a test says otherwise."""

    def conditions(self) -> Conditions | None:
        """What was seen since it was made; None where nothing was looked at."""


class Measured(Record, kw_only=True):
    """`primary` names the series a result is judged by: batched where one call is too short to time,
    cold where the program asks for it."""

    series: dict[str, Series]
    primary: str
    output: Any
    warm_up_calls: int
    tick_s: float
    stability: Stability
    growth: Growth | None
    clocks: Clocks | None = None
    conditions: Conditions | None = None

    @property
    def chosen(self) -> Series:
        return self.series[self.primary]


def measure(
    program: Program,
    timing: Timing | None = None,
    *,
    flush: Flush | None = None,
    timer: Callable[[], float] = time.perf_counter,
    watch: Callable[[], Watching] = Watch,
) -> Measured:
    """Warm-up, cold samples where there is a `flush`, hot ones, batched ones where a call is too short to
    time; how the time grows with the work, what both clocks say, and what the machine did meanwhile. Raises
    whatever the program raises.
    """
    timing = timing or Timing()
    watching = watch()
    series: dict[str, Series] = {}
    cold = _cold_way(program, flush, timer)
    if cold is not None and timing.cold_samples and not program.cold:
        # First, so that its very first call is as cold as it gets; the program is compiled by then.
        program.run()
        series["cold"] = _few_cold(program, timing, cold, flush)
    calls, last_s = warm_up(program.run, timing, timer)
    tick = tick_of(timer)
    rules = timing.stopping(timing.sample_s)
    way = Way(name="hot", timer=timer)
    series["hot"], output = sampled(way, program, rules, last_s)
    iterations = _iterations(program, series["hot"], tick)
    if program.cold and cold is not None:
        way = cold
        series["cold"], output = sampled(way, program, rules, last_s, flush=program.flushed)
    elif iterations > 1:
        way = Way(name="batched", iterations=iterations, timer=timer)
        series["batched"], output = sampled(way, program, rules, last_s)
    growth = _growth(program, timing, way, series[way.name])
    clocks = _clocks(program, series["hot"], timer)
    return Measured(
        series=series,
        primary=way.name,
        output=output,
        warm_up_calls=calls,
        tick_s=tick,
        stability=stability(series[way.name]),
        growth=growth,
        clocks=clocks,
        conditions=watching.conditions(),
    )


def warm_up(call: Callable[[], Any], timing: Timing, timer: Callable[[], float]) -> tuple[int, float]:
    """The very callable that is timed, its output kept as it will be; (calls made, seconds of the last).

    Ends after `warm_up_s` and `warm_up_calls`, whichever is later, but goes on (at most ten times as
    long) while the last call is still faster than the ones before it.
    """
    begun = timer()
    best, last, calls = float("inf"), 0.0, 0
    while True:
        started = timer()
        output = call()
        last = timer() - started
        del output
        calls += 1
        spent = timer() - begun
        improving = last < 0.9 * best
        best = min(best, last)
        enough = calls >= timing.warm_up_calls and spent >= timing.warm_up_s
        if enough and (not improving or spent >= 10 * timing.warm_up_s):
            return calls, last


def tick_of(timer: Callable[[], float]) -> float:
    """The smallest step the clock makes, or what reading it takes, whichever is more; seconds."""
    steps = []
    for _ in range(50):
        before = after = timer()
        for _ in range(10_000):
            after = timer()
            if after > before:
                break
        if after > before:
            steps.append(after - before)
    return median(steps) if steps else 1e-9


def calibrate(call_s: float, tick_s: float) -> int:
    """Calls per sample: one, where a call lasts a thousand ticks, else as many as last that long."""
    if call_s <= 0.0:
        return TICKS
    return min(1_000_000, round(TICKS * tick_s / call_s + 0.5)) if call_s < TICKS * tick_s else 1


def _iterations(program: Program, hot: Series, tick_s: float) -> int:
    """Calls per sample, by the clock that is believed."""
    if hot.device_samples and program.queued is not None:
        return calibrate(median(hot.device_samples), program.device_tick_s or tick_s)
    return calibrate(median(hot.judged), max(tick_s, program.least_s / TICKS))


def _cold_way(program: Program, flush: Flush | None, timer: Callable[[], float]) -> Way | None:
    empty = program.flush or (flush.run if flush else None)
    return Way(name="cold", before=empty, timer=timer) if empty is not None else None


def _few_cold(program: Program, timing: Timing, way: Way, flush: Flush | None) -> Series:
    declared = program.flushed if program.flush else flush.declared if flush else "none"
    taken: list[Taken] = []
    begun = way.timer()
    why = f"sample limit: {timing.cold_samples} cold samples"
    while len(taken) < timing.cold_samples:
        taken.append(way.take(program, 1))
        if way.timer() - begun > timing.cold_s:
            why = f"time limit: {timing.cold_s:g} s of cold samples"
            break
    return Series(
        name="cold",
        samples=tuple(sample for one in taken for sample in one.samples),
        flush=declared,
        stop_reason=why,
        device_samples=tuple(each for one in taken for each in one.device),
    )


def _growth(program: Program, timing: Timing, way: Way, series: Series) -> Growth | None:
    """The smaller program timed the same way, and what a call without work takes by the same clock."""
    if program.smaller is None or program.amount <= 0.0:
        return None
    on_device = bool(series.device_samples)
    time_s = median(series.device_samples if on_device else series.judged)
    smaller = program.smaller()
    try:
        smaller.run()
        count = max(5, min(200, int(timing.growth_s / max(time_s * way.iterations, 1e-6))))
        less = way.take(smaller, count).typical
        idle = way.idle(program)
    finally:
        if smaller.close is not None:
            smaller.close()
    # By the device's clock a call without work takes what the device says, however little.
    floor = idle.typical if on_device and idle.device else max(median(idle.samples), CALL_S)
    return Growth(work_ratio=program.amount / smaller.amount, time_s=time_s, less_s=less, floor_s=floor)


def _clocks(program: Program, hot: Series, timer: Callable[[], float]) -> Clocks | None:
    """What both clocks say of the same calls; None where there is one clock."""
    if not hot.device_samples:
        return None
    floor = median(Way(name="idle", timer=timer).idle(program).samples)
    return Clocks(host_s=median(hot.judged), device_s=median(hot.device_samples), floor_s=max(floor, CALL_S))
