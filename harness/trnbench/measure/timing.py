"""The one place that knows pytest-benchmark: a batch of samples from one `pedantic` fixture.

`BenchmarkFixture` is driven without pytest. It is no public interface and its arguments differ between
versions (5.1 has no precision, 5.3 requires it), so they are filled in by its own signature.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from trnbench.record import Record

ARGUMENTS: dict[str, Any] = {
    "disable_gc": True,
    "min_rounds": 1,
    "min_time": 0.0,
    "max_time": 0.0,
    "precision": None,
    "confidence": None,
    "warmup": False,
    "warmup_iterations": 0,
    "calibration_precision": 10,
    "warner": None,
    "disabled": False,
    "cprofile": None,
    "cprofile_loops": None,
    "cprofile_dump": None,
    "group": None,
}
"""What every version may ask for. Calibration and stopping are ours, so most of it is off."""


class Batch(Record):
    """Seconds per call of each sample, and the output of the last call; beside each sample the processor
    time of this process per call, and how often it was preempted: empty where the timer is not read once
    before and once after each."""

    samples: tuple[float, ...]
    output: Any
    cpu_s: tuple[float, ...] = ()
    preempted: tuple[int, ...] = ()


class _Observed:
    """A timer read twice for each sample, that looks at this process outside what it times."""

    def __init__(self, timer: Callable[[], float]) -> None:
        self._timer = timer
        self._looks: list[tuple[float, int]] = []

    def __call__(self) -> float:
        if len(self._looks) % 2:
            now = self._timer()
            self._looks.append(_look())
            return now
        self._looks.append(_look())
        return self._timer()

    def beside(self, samples: int, iterations: int) -> tuple[tuple[float, ...], tuple[int, ...]]:
        if len(self._looks) != 2 * samples:
            return (), ()
        pairs = list(zip(self._looks[::2], self._looks[1::2], strict=True))
        cpu_s = tuple((after[0] - before[0]) / iterations for before, after in pairs)
        return cpu_s, tuple(after[1] - before[1] for before, after in pairs)


def _look() -> tuple[float, int]:
    """Processor time of all threads, and involuntary context switches."""
    return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


class _Silent:
    """pytest-benchmark's logger imports pytest; this one takes what it is told and says nothing."""

    def debug(self, *_: Any, **__: Any) -> None: ...

    info = warning = error = debug


def fixture_arguments(fixture: type, **given: Any) -> dict[str, Any]:
    """The arguments that `fixture.__init__` takes, of those we know. Raises `TypeError` naming others."""
    from inspect import Parameter, signature

    known = {**ARGUMENTS, **given}
    wanted = [parameter for parameter in signature(fixture).parameters.values() if parameter.name != "self"]
    unknown = [each.name for each in wanted if each.name not in known and each.default is Parameter.empty]
    if unknown:
        raise TypeError(
            f"this version of pytest-benchmark asks for {', '.join(unknown)}, which trnbench does not know"
        )
    return {each.name: known[each.name] for each in wanted if each.name in known}


def time_batch(
    call: Callable[[], Any],
    *,
    rounds: int = 1,
    iterations: int = 1,
    before: Callable[[], Any] | None = None,
    after: Callable[[], Any] | None = None,
    timer: Callable[[], float] = time.perf_counter,
    name: str = "case",
) -> Batch:
    """`rounds` samples of `iterations` calls each; garbage collection is off inside a sample.

    `before` and `after` surround each sample outside the timed region. With several iterations the
    call is made once more at the end, for its output. What `call` raises passes through.
    """
    from pytest_benchmark import fixture as theirs

    observed = _Observed(timer)
    kind: Any = theirs.BenchmarkFixture  # without type information
    fixture = kind(
        **fixture_arguments(
            kind,
            node=SimpleNamespace(name=name, nodeid=name),
            timer=SimpleNamespace(target=observed),
            add_stats=lambda _: None,
            logger=_Silent(),
        )
    )
    output = fixture.pedantic(
        call,
        setup=_nothing_returned(before),
        teardown=_nothing_returned(after),
        rounds=rounds,
        iterations=iterations,
    )
    # Its statistics hold seconds per call: it has divided by the iterations already.
    samples = tuple(fixture.stats.stats.data)
    return Batch(samples, output, *observed.beside(len(samples), iterations))


def _nothing_returned(hook: Callable[[], Any] | None) -> Callable[[], None] | None:
    """pedantic takes what `setup` returns for arguments of the call."""
    if hook is None:
        return None

    def called() -> None:
        hook()

    return called


def replay(fixture: Any, samples: tuple[float, ...]) -> None:
    """Put times that were taken (or modelled) elsewhere into pytest's own `benchmark` fixture.

    Its timer is replaced by one that advances by each sample: nothing is measured, nothing calibrated.
    """
    clock = [0.0]
    left = iter(samples)

    def advance() -> None:
        clock[0] += next(left)

    fixture._timer = lambda: clock[0]
    fixture.pedantic(advance, rounds=len(samples), iterations=1)
