"""What a machine was like while a process took its samples, and waiting until it is quiet."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from trnbench.record import Record
from trnbench.results.measurement import Conditions, ProcessSamples
from trnbench.results.stability import Disturbance, likeliest

PROC, SYS = Path("/proc"), Path("/sys")

TICKS_LEAST = 20
"""Of the system's accounting of processors: fewer say nothing of a share."""


class _Processor(Record):
    """Ticks of `/proc/stat` since the system started."""

    busy: int
    stolen: int
    total: int


class _Look(Record, kw_only=True):
    wall_s: float
    cpu_s: float
    preempted: int
    waited: int
    queued_ns: dict[str, int] | None  # by thread
    processors: dict[int, _Processor]
    pressure_us: int | None
    clock_hz: float | None


class Watch:
    """Looks when it is made, and again in `conditions()`; half a millisecond each.

    `alone` is False where several processes take the samples together: what the others of them use is then
    no disturbance, and cannot be told from one.
    """

    def __init__(self, proc: Path = PROC, sys: Path = SYS, *, alone: bool = True) -> None:
        self._proc, self._sys, self._alone = proc, sys, alone
        self._before = self._look()

    def conditions(self) -> Conditions:
        """What happened since this watch was made."""
        before, after = self._before, self._look()
        wall_s, cpu_s = after.wall_s - before.wall_s, after.cpu_s - before.cpu_s
        own = _with_siblings(_allowed(), self._sys)
        clocks = tuple(each for each in (before.clock_hz, after.clock_hz) if each is not None)
        return Conditions(
            wall_s=wall_s,
            cpu_s=cpu_s,
            queued_s=_queued_s(before.queued_ns, after.queued_ns),
            preempted=after.preempted - before.preempted,
            waited=after.waited - before.waited,
            others=_others(before.processors, after.processors, own, cpu_s) if self._alone else None,
            stolen=_stolen(before.processors, after.processors, own),
            pressure=_pressure(before.pressure_us, after.pressure_us, wall_s) if self._alone else None,
            clock_hz=clocks if len(clocks) == 2 else (),
        )

    def _look(self) -> _Look:
        own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        return _Look(
            wall_s=time.perf_counter(),
            cpu_s=own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime,
            preempted=own.ru_nivcsw,
            waited=own.ru_nvcsw,
            queued_ns=_waiting(self._proc),
            processors=_processors(self._proc),
            pressure_us=_pressure_total(self._proc),
            clock_hz=clock_hz(min(_allowed(), default=0), self._proc, self._sys),
        )


def clock_hz(processor: int, proc: Path = PROC, sys: Path = SYS) -> float | None:
    """What this processor's clock is right now; None where the system does not tell. Virtual machines tell
    one number for ever."""
    with suppress(OSError, ValueError):
        path = sys / f"devices/system/cpu/cpu{processor}/cpufreq/scaling_cur_freq"
        return float(path.read_text()) * 1e3
    with suppress(OSError, ValueError, IndexError):
        told = [line for line in (proc / "cpuinfo").read_text().splitlines() if line.startswith("cpu MHz")]
        return float(told[processor].partition(":")[2]) * 1e6
    return None


def _waiting(proc: Path) -> dict[str, int] | None:
    """Nanoseconds that each thread of this process was ready and not running: schedstat's second number."""
    found = {}
    with suppress(OSError):
        for thread in (proc / "self/task").iterdir():
            with suppress(OSError, ValueError, IndexError):  # it ended
                found[thread.name] = int((thread / "schedstat").read_text().split()[1])
    return found or None


def _queued_s(before: dict[str, int] | None, after: dict[str, int] | None) -> float | None:
    if before is None or after is None:
        return None
    return sum(value - before.get(thread, 0) for thread, value in after.items()) / 1e9


def _processors(proc: Path) -> dict[int, _Processor]:
    """user nice system idle iowait irq softirq steal, as proc(5) has them."""
    processors = {}
    with suppress(OSError):
        for line in (proc / "stat").read_text().splitlines():
            name, *words = line.split()
            if not (name.startswith("cpu") and name[3:].isdigit() and len(words) >= 8):
                continue
            ticks = [int(word) for word in words[:8]]
            busy = sum(ticks[:3]) + ticks[5] + ticks[6]
            processors[int(name[3:])] = _Processor(busy, ticks[7], sum(ticks))
    return processors


def _others(
    before: dict[int, _Processor], after: dict[int, _Processor], own: frozenset[int], cpu_s: float
) -> float | None:
    """Of the processors this process may use, and of all of the machine; the larger share."""
    used = cpu_s * os.sysconf("SC_CLK_TCK")
    shares = []
    for chosen in (own & after.keys(), after.keys()):
        busy = _spent(before, after, chosen, "busy")
        total = _spent(before, after, chosen, "total")
        if total >= TICKS_LEAST:
            shares.append(min(1.0, max(0.0, (busy - used) / total)))
    return max(shares, default=None)


def _stolen(before: dict[int, _Processor], after: dict[int, _Processor], own: frozenset[int]) -> float | None:
    total = _spent(before, after, own, "total")
    return _spent(before, after, own, "stolen") / total if total >= TICKS_LEAST else None


def _spent(
    before: dict[int, _Processor], after: dict[int, _Processor], chosen: Iterable[int], what: str
) -> int:
    both = [each for each in chosen if each in before and each in after]
    return sum(getattr(after[each], what) - getattr(before[each], what) for each in both)


def _pressure_total(proc: Path) -> int | None:
    """Microseconds in which at least one task waited for a processor (PSI's "some")."""
    with suppress(OSError, ValueError):
        line = next(
            line for line in (proc / "pressure/cpu").read_text().splitlines() if line.startswith("some")
        )
        return int(line.rpartition("total=")[2])
    return None


def _pressure(before: int | None, after: int | None, wall_s: float) -> float | None:
    if before is None or after is None or wall_s <= 0.0:
        return None
    return min(1.0, (after - before) / 1e6 / wall_s)


def _allowed() -> frozenset[int]:
    try:
        return frozenset(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return frozenset()


def _with_siblings(processors: frozenset[int], sys: Path) -> frozenset[int]:
    """And the logical processors that share a core with them: what runs there takes its units and caches."""
    found = set(processors)
    for processor in processors:
        with suppress(OSError, ValueError):
            told = (sys / f"devices/system/cpu/cpu{processor}/topology/thread_siblings_list").read_text()
            for part in told.strip().split(","):  # "0-1,64"
                first, _, last = part.partition("-")
                found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


LOOK_S = 0.5
"""How long one look takes: fifty ticks of the system's accounting of each processor."""


def seen(seconds: float = LOOK_S) -> Conditions:
    """What the machine is busy with while this process sleeps."""
    watch = Watch()
    time.sleep(seconds)
    # Nothing is to be told from how long a process that sleeps waited for a processor.
    return replace(watch.conditions(), queued_s=None)


def disturbed(conditions: Conditions) -> Disturbance | None:
    """What disturbed a measurement under these conditions; None where nothing did."""
    cause = likeliest((ProcessSamples(samples=(), time_s=0.0, conditions=conditions),))
    return cause if cause.disturbs else None


def quiet_within(
    seconds: float, look: Callable[[], Conditions] | None = None, clock: Callable[[], float] = time.monotonic
) -> Disturbance | None:
    """Looks until the machine is quiet or `seconds` are over, once at least; what disturbs it then."""
    look, until = look or seen, clock() + seconds
    while (cause := disturbed(look())) is not None and clock() < until:
        pass
    return cause
