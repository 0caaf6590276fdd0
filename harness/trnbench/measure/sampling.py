"""Samples of one program taken one way, by both clocks, until a rule stops."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from trnbench.backend import Program
from trnbench.errors import counted
from trnbench.measure.series import Series
from trnbench.measure.timing import time_batch
from trnbench.record import Record
from trnbench.results.statistics import median


@runtime_checkable
class Rule(Protocol):
    """Looks at a series between two batches."""

    def stop(self, samples: Sequence[float], elapsed_s: float) -> str:
        """The reason to stop, in words; empty to go on."""


class PrecisionReached(Record, kw_only=True):
    """The interval of the median is narrow enough, and the median has settled.

    The interval is that of order statistics (ranks n/2 ± z·√n/2 of the sorted samples, David and
    Nagaraja, Order Statistics, section 7.1): no shape of the distribution is assumed. Settled means
    that the later half's median lies within the precision of the whole's: a drift is not precise.
    """

    relative: float = 0.02  # half the interval over the median
    confidence: float = 0.95
    least: int = 20

    def stop(self, samples: Sequence[float], elapsed_s: float) -> str:
        if len(samples) < self.least:
            return ""
        half = half_width(samples, self.confidence)
        middle = median(samples)
        drift = abs(median(samples[len(samples) // 2 :]) - middle)
        if middle <= 0.0 or half > self.relative * middle or drift > self.relative * middle:
            return ""
        return (
            f"precision reached: median known to ±{half / middle:.2%} "
            f"({self.confidence:.0%} confidence) after {len(samples)} samples"
        )


class TimeLimit(Record, kw_only=True):
    """So many seconds of sampling, whatever the precision."""

    seconds: float = 1.0

    def stop(self, samples: Sequence[float], elapsed_s: float) -> str:
        if not samples or elapsed_s < self.seconds:
            return ""
        return f"time limit: {self.seconds:g} s of sampling, {counted(len(samples), 'sample')}"


class SampleLimit(Record, kw_only=True):
    """So many samples, whatever the precision."""

    samples: int = 2000

    def stop(self, samples: Sequence[float], elapsed_s: float) -> str:
        return f"sample limit: {counted(self.samples, 'sample')}" if len(samples) >= self.samples else ""


def half_width(samples: Sequence[float], confidence: float) -> float:
    """Half the interval in which the median lies, by order statistics; infinite for few samples."""
    from statistics import NormalDist

    count = len(samples)
    reach = NormalDist().inv_cdf(0.5 + confidence / 2.0) * math.sqrt(count) / 2.0
    low, high = math.floor(count / 2.0 - reach), math.ceil(count / 2.0 + reach)
    if high >= count:  # and `low` is below 1: they lie alike about the middle
        return math.inf
    ordered = sorted(samples)
    return (ordered[high] - ordered[low]) / 2.0


def first_reason(rules: Sequence[Rule], samples: Sequence[float], elapsed_s: float) -> str:
    """The reason of the first rule that wants to stop, "" when none does."""
    return next((why for rule in rules if (why := rule.stop(samples, elapsed_s))), "")


class Taken(Record, kw_only=True):
    """Seconds per call; `device` is empty where the device has no clock, or cannot tell of these calls.
    `cpu_s` and `preempted` as in `Batch`."""

    samples: tuple[float, ...]
    device: tuple[float, ...] = ()
    cpu_s: tuple[float, ...] = ()
    preempted: tuple[int, ...] = ()
    output: Any = None

    @property
    def typical(self) -> float:
        """The median by the clock that a result is taken from: the device's, where there is one."""
        return median(self.device or self.samples)


_IDLE = 25
"""Samples of calls without work."""


class Way(Record, kw_only=True):
    """`iterations` to a sample, `before` each sample whatever makes it cold."""

    name: str
    iterations: int = 1
    before: Callable[[], Any] | None = None
    timer: Callable[[], float] = time.perf_counter

    def take(self, program: Program, rounds: int) -> Taken:
        """`rounds` samples of `program`. Raises whatever it raises."""
        before, clock = self._before(program), program.device_clock
        if self.iterations == 1:
            return self._taken(program.run, rounds, before=before, clock=clock)
        if program.queued is not None:
            return self._taken(self._together(program.queued), rounds, self.iterations, before, clock)
        # With several calls to a sample the device's clock knows the last one only.
        return self._taken(program.run, rounds, iterations=self.iterations)

    def idle(self, program: Program) -> Taken:
        """Samples of calls without work, taken the same way but never cold."""
        clock = program.device_clock
        if self.iterations > 1 and program.idle_queued is not None:
            return self._taken(self._together(program.idle_queued), _IDLE, self.iterations, clock=clock)
        if program.idle is None:
            return self._taken(_nothing, _IDLE)
        return self._taken(program.idle, _IDLE, clock=clock)

    def _together(self, queued: Callable[[int], Any]) -> Callable[[], Any]:
        """The calls of one sample as a single one."""
        return lambda: queued(self.iterations)

    def _taken(
        self,
        call: Callable[[], Any],
        rounds: int,
        inside: int = 1,
        before: Callable[[], Any] | None = None,
        clock: Callable[[], float] | None = None,
        iterations: int = 1,
    ) -> Taken:
        """`inside`: how many calls of the program one `call` makes."""
        device: list[float] = []
        batch = time_batch(
            call,
            rounds=rounds,
            iterations=iterations,
            before=before,
            after=(lambda: device.append(clock() / inside)) if clock is not None else None,
            timer=self.timer,
            name=self.name,
        )
        return Taken(
            samples=tuple(sample / inside for sample in batch.samples),
            device=tuple(device),
            cpu_s=tuple(each / inside for each in batch.cpu_s),
            preempted=batch.preempted,
            output=batch.output,
        )

    def _before(self, program: Program) -> Callable[[], Any] | None:
        hooks = [each for each in (program.ready, self.before) if each is not None]

        def all_of_them() -> None:
            for hook in hooks:
                hook()

        return all_of_them if hooks else None


def sampled(
    way: Way, program: Program, rules: Sequence[Rule], call_s: float, *, flush: str = "none"
) -> tuple[Series, Any]:
    """Samples until a rule stops, and the output of the last call. `call_s` is what one call takes."""
    samples: list[float] = []
    device: list[float] = []
    cpu_s: list[float] = []
    preempted: list[int] = []
    begun = way.timer()
    output: Any = None
    while True:
        rounds = _rounds(call_s * way.iterations, len(samples))
        output = None  # the output of the last batch must not keep memory from the next
        taken = way.take(program, rounds)
        samples += taken.samples
        device += taken.device
        cpu_s += taken.cpu_s
        preempted += taken.preempted
        output = taken.output
        why = first_reason(rules, device or samples, way.timer() - begun)
        if why:
            return Series(
                name=way.name,
                samples=tuple(samples),
                iterations=way.iterations,
                flush=flush,
                stop_reason=why,
                device_samples=tuple(device),
                cpu_s=tuple(cpu_s),
                preempted=tuple(preempted),
            ), output


def _rounds(sample_s: float, taken: int) -> int:
    """Samples until the rules look again: about 20 ms of them, more as the series grows."""
    few = max(1, min(50, int(0.02 / max(sample_s, 1e-7))))
    return max(few, min(taken // 10, 200)) if sample_s < 0.01 else few


def _nothing() -> None:
    return None
