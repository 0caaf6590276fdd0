"""How quiet a machine is: what disturbs a measurement, and what to do about it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from trnbench.facts.units import show
from trnbench.measure.conditions import PROC, SYS
from trnbench.measure.session import tick_of
from trnbench.record import Record

PROBE_S = 0.05
GAP_S = 50e-6
"""A loop that reads the clock sees no gap this long unless something else ran in between."""


class Noise(Record, kw_only=True):
    """One thing that disturbs measurements: what was `found`, whether it is `quiet`, what to do about it."""

    name: str
    quiet: bool
    found: str
    advice: str = ""


def look(proc: Path = PROC, sys: Path = SYS) -> Iterator[Noise]:
    """Every source of noise that this machine lets one look at; a tenth of a second in all."""
    yield _governor(sys)
    yield from _boost(sys)
    yield _load(_load_average(proc), len(os.sched_getaffinity(0)))
    yield _others(_running(proc))
    yield _clock(sys)
    yield _gaps(gaps(time.perf_counter))
    yield from _steal(proc)
    yield from _quota(sys)


def _noise(name: str, found: str, *, quiet: bool, advice: str) -> Noise:
    """With the advice where it is wanted."""
    return Noise(name=name, quiet=quiet, found=found, advice="" if quiet else advice)


def _governor(sys: Path) -> Noise:
    governor = _text(sys / "devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return _noise(
        "clock governor",
        governor or "not told: the clock is not ours to set",
        quiet=governor in ("", "performance"),
        advice="cpupower frequency-set -g performance",
    )


def _boost(sys: Path) -> Iterator[Noise]:
    cpu = sys / "devices/system/cpu"
    boost, no_turbo = _text(cpu / "cpufreq/boost"), _text(cpu / "intel_pstate/no_turbo")
    if boost or no_turbo:
        on = boost == "1" or no_turbo == "0"
        yield _noise(
            "clock boost",
            "on" if on else "off",
            quiet=not on,
            advice="a result may exceed the nominal clock's peak, and fall as the machine warms up",
        )


def _load(average: float, processors: int) -> Noise:
    return _noise(
        "load",
        f"{average:.2f} on {processors} processors in the last minute",
        quiet=average / processors <= 0.25,
        advice="wait, or end what runs: uptime, top",
    )


def _others(count: int) -> Noise:
    return _noise(
        "other processes",
        f"{count or 'none'} running right now",
        quiet=count == 0,
        advice="end them: ps -eo pcpu,pid,comm --sort=-pcpu | head",
    )


def _clock(sys: Path) -> Noise:
    tick = tick_of(time.perf_counter)
    source = _text(sys / "devices/system/clocksource/clocksource0/current_clocksource") or "unknown source"
    return _noise(
        "timer",
        f"{source}, read in {show(tick, 's')}",
        quiet=tick <= 1e-6,
        advice="shorter calls are timed in batches; a tsc clock source reads faster",
    )


def gaps(timer: Callable[[], float], seconds: float = PROBE_S) -> float:
    """The share of `seconds` in which a loop that only reads the clock did not run."""
    begun = before = timer()
    lost = 0.0
    while before - begun < seconds:
        now = timer()
        if now - before > GAP_S:
            lost += now - before
        before = now
    return min(1.0, lost / seconds)


def _gaps(lost: float) -> Noise:
    return _noise(
        "interruptions",
        f"{lost:.1%} of {PROBE_S * 1e3:g} ms went to something else",
        quiet=lost <= 0.01,
        advice="end other processes; isolcpus= keeps a processor to itself",
    )


def _steal(proc: Path) -> Iterator[Noise]:
    for line in _text(proc / "stat").splitlines():
        words = line.split()
        if words[:1] == ["cpu"] and len(words) > 8:
            total = sum(int(word) for word in words[1:9]) or 1
            share = int(words[8]) / total
            yield _noise(
                "stolen time",
                f"{share:.2%} of all time since the start went to other virtual machines",
                quiet=share <= 0.01,
                advice="a dedicated host, or a metal instance",
            )


def _quota(sys: Path) -> Iterator[Noise]:
    quota, _, period = _text(sys / "fs/cgroup/cpu.max").partition(" ")
    if quota.isdigit() and period.strip().isdigit():
        yield _noise(
            "processor quota",
            f"{int(quota) / int(period):.2g} processors' worth of time, then a pause",
            quiet=False,
            advice="run without a limit (--cpus) of the container",
        )


def _load_average(proc: Path) -> float:
    try:
        return float(_text(proc / "loadavg").split()[0])
    except (IndexError, ValueError):
        return 0.0


def _running(proc: Path) -> int:
    """Processes in state R, this one left out."""
    own, count = str(os.getpid()), 0
    for path in proc.glob("[0-9]*/stat"):
        if path.parent.name != own and (told := _text(path)):
            count += told.rpartition(")")[2].split()[:1] == ["R"]
    return count


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
