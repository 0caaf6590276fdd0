"""What the doctor says of a machine's noise, on recorded machines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trnbench.measure.noise import Noise, gaps, look


def machine(folder: Path, **files: str) -> dict[str, Noise]:
    places = {
        "governor": "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "no_turbo": "sys/devices/system/cpu/intel_pstate/no_turbo",
        "load": "proc/loadavg",
        "stat": "proc/stat",
        "quota": "sys/fs/cgroup/cpu.max",
        "source": "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "busy": "proc/4242/stat",
    }
    for name, text in files.items():
        path = folder / places[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {each.name: each for each in look(folder / "proc", folder / "sys")}


def test_a_busy_laptop_is_told_what_to_do(tmp_path: Path) -> None:
    found = machine(
        tmp_path,
        governor="powersave\n",
        no_turbo="0\n",
        load="900.0 3 2 1/99 7\n",
        stat="cpu  100 0 100 700 0 0 0 100 0 0\n",
        quota="150000 100000\n",
        source="hpet\n",
        busy="4242 (a (strange) name) R 1 2 3",
    )
    assert found["clock governor"].advice == "cpupower frequency-set -g performance"
    assert found["clock boost"].found == "on"
    assert not found["load"].quiet
    assert (found["other processes"].found, found["other processes"].quiet) == ("1 running right now", False)
    assert found["stolen time"].found == "10.00% of all time since the start went to other virtual machines"
    assert found["processor quota"].found == "1.5 processors' worth of time, then a pause"
    assert found["timer"].found.startswith("hpet, read in ")
    assert all(each.quiet == (not each.advice) for each in found.values())


def test_a_quiet_machine_is_quiet(tmp_path: Path) -> None:
    found = machine(
        tmp_path,
        governor="performance",
        no_turbo="1",
        load="0.0 0.0 0.0 1/99 7",
        stat="cpu  100 0 100 700 0 0 0 0 0 0",
        quota="max 100000",
    )
    assert "processor quota" not in found
    quiet = ("clock governor", "clock boost", "load", "other processes", "stolen time")
    assert all(found[name].quiet for name in quiet)


@pytest.mark.parametrize(
    ("share", "quiet"), [(0.0, True), (0.25, True), (0.26, False), (0.5, False), (1.0, False)]
)
def test_a_quarter_of_the_processors_may_be_busy(tmp_path: Path, share: float, quiet: bool) -> None:
    processors = len(os.sched_getaffinity(0))
    load = machine(tmp_path, load=f"{share * processors} 0.0 0.0 1/99 7")["load"]
    assert load.quiet is quiet
    assert load.found == f"{share * processors:.2f} on {processors} processors in the last minute"
    assert load.advice == ("" if quiet else "wait, or end what runs: uptime, top")


@pytest.mark.parametrize(("stolen", "quiet"), [(0, True), (10, True), (11, False)])
def test_a_hundredth_of_the_time_may_be_stolen(tmp_path: Path, stolen: int, quiet: bool) -> None:
    found = machine(tmp_path, stat=f"cpu  100 0 100 {800 - stolen} 0 0 0 {stolen} 0 0\n")["stolen time"]
    assert found.quiet is quiet
    assert found.found == f"{stolen / 1000:.2%} of all time since the start went to other virtual machines"


def test_a_machine_that_tells_nothing_is_not_blamed(tmp_path: Path) -> None:
    found = machine(tmp_path)
    assert found["clock governor"].quiet
    assert "clock boost" not in found
    assert "stolen time" not in found


@pytest.mark.parametrize(("pause", "lost"), [(1e-6, 0.0), (1e-3, 1.0)])
def test_gaps_are_time_in_which_nothing_was_seen(pause: float, lost: float) -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += pause
        return now[0]

    assert gaps(clock) == pytest.approx(lost, abs=0.03)
