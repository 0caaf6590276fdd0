"""One program measured: warm-up, calibration, then cold, hot and batched samples until a rule stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from trnbench.kernels.program import Program
from trnbench.measure.flush import Flush
from trnbench.measure.series import Series, Stability, stability
from trnbench.measure.stopping import PrecisionReached, Rule, SampleLimit, TimeLimit, first_reason
from trnbench.measure.timing import time_batch
from trnbench.results.proof import Growth
from trnbench.results.statistics import median

TICKS = 1000
"""A sample lasts at least this many ticks of its clock, so that reading it is 0.1 % at most."""


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """How long and how often. `rules` replaces the three of `sample_s` and `samples`."""

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


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """`primary` names the series a result is judged by: batched where one call is too short to time."""

    series: dict[str, Series]
    primary: str
    output: Any
    warm_up_calls: int
    tick_s: float
    stability: Stability
    growth: Growth | None

    @property
    def chosen(self) -> Series:
        return self.series[self.primary]


def measure(
    program: Program,
    timing: Timing | None = None,
    *,
    flush: Flush | None = None,
    timer: Callable[[], float] = time.perf_counter,
) -> Measured:
    """Raises whatever the program raises."""
    timing = timing or Timing()
    series: dict[str, Series] = {}
    if timing.cold_samples and (flush or program.flush):
        # First, so that its very first call is as cold as it gets; the program is compiled by then.
        program.run()
        series["cold"] = _cold(program, timing, flush, timer)
    calls, last_s = warm_up(program.run, timing, timer)
    tick = tick_of(timer)
    hot = _sampled("hot", program, 1, timing.stopping(timing.sample_s), timer, last_s)
    series["hot"], output = hot
    iterations = calibrate(median(series["hot"].judged), tick)
    primary = "hot"
    if iterations > 1:
        rules = timing.stopping(timing.sample_s)
        series["batched"], output = _sampled("batched", program, iterations, rules, timer, last_s)
        primary = "batched"
    return Measured(
        series=series,
        primary=primary,
        output=output,
        warm_up_calls=calls,
        tick_s=tick,
        stability=stability(series[primary]),
        growth=_growth(program, timing, timer, median(series[primary].judged), iterations),
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
    return max(1, min(1_000_000, round(TICKS * tick_s / call_s + 0.5))) if call_s < TICKS * tick_s else 1


def _sampled(
    name: str,
    program: Program,
    iterations: int,
    rules: Sequence[Rule],
    timer: Callable[[], float],
    call_s: float,
) -> tuple[Series, Any]:
    samples: list[float] = []
    device: list[float] = []
    clock = program.device_clock
    # With several calls to a sample the device's clock knows the last one only.
    after = (lambda: device.append(clock())) if clock is not None and iterations == 1 else None
    begun = time.monotonic()
    output: Any = None
    while True:
        rounds = _rounds(call_s * iterations, len(samples))
        output = None  # the output of the last batch must not keep memory from the next
        batch = time_batch(
            program.run, rounds=rounds, iterations=iterations, after=after, timer=timer, name=name
        )
        samples += batch.samples
        output = batch.output
        why = first_reason(rules, samples, time.monotonic() - begun)
        if why:
            found = Series(
                name=name,
                samples=tuple(samples),
                iterations=iterations,
                stop_reason=why,
                device_samples=tuple(device),
            )
            return found, output


def _rounds(sample_s: float, taken: int) -> int:
    """Samples until the rules look again: about 20 ms of them, more as the series grows."""
    few = max(1, min(50, int(0.02 / max(sample_s, 1e-7))))
    return max(few, min(taken // 10, 200)) if sample_s < 0.01 else few


def _cold(program: Program, timing: Timing, flush: Flush | None, timer: Callable[[], float]) -> Series:
    empty = program.flush or (flush.run if flush else None)
    declared = program.flushed if program.flush else flush.declared if flush else "none"
    samples: list[float] = []
    begun = time.monotonic()
    why = f"sample limit: {timing.cold_samples} cold samples"
    while len(samples) < timing.cold_samples:
        samples += time_batch(program.run, before=empty, timer=timer, name="cold").samples
        if time.monotonic() - begun > timing.cold_s:
            why = f"time limit: {timing.cold_s:g} s of cold samples"
            break
    return Series(name="cold", samples=tuple(samples), flush=declared, stop_reason=why)


def _growth(
    program: Program, timing: Timing, timer: Callable[[], float], time_s: float, iterations: int
) -> Growth | None:
    if program.smaller is None or program.amount <= 0.0:
        return None
    smaller = program.smaller()
    try:
        smaller.run()
        count = max(5, min(200, int(timing.growth_s / max(time_s * iterations, 1e-6))))
        less = median(time_batch(smaller.run, rounds=count, iterations=iterations, timer=timer).samples)
        idle = program.idle or _nothing
        floor = median(time_batch(idle, rounds=25, timer=timer).samples)
    finally:
        if smaller.close is not None:
            smaller.close()
    return Growth(
        work_ratio=program.amount / smaller.amount,
        time_s=time_s,
        less_s=less,
        floor_s=max(floor, CALL_S),
    )


CALL_S = 5e-6
"""What a call into a library costs before it does any work; measured floors below this are taken as it."""


def _nothing() -> None:
    return None
