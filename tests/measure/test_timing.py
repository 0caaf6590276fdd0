"""What decides when a measurement is enough: rounds, noise, and the clock's own."""

from __future__ import annotations

import inspect
import os
import time
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import trnbench
from trnbench.measure.noise import Noise, gaps, look
from trnbench.measure.timing import fixture_arguments, replay, time_batch

NODE = {"node": "n", "timer": "t", "add_stats": "a", "logger": "l"}


def test_the_installed_version_is_one_we_support() -> None:
    version = tuple(int(each) for each in metadata.version("pytest-benchmark").split(".")[:2])
    assert (5, 1) <= version < (6, 0)
    wanted = {name for name in inspect.signature(BenchmarkFixture).parameters if name != "self"}
    assert wanted <= set(fixture_arguments(BenchmarkFixture, **NODE))


OLD = ("node", "disable_gc", "timer", "min_rounds", "min_time", "max_time", "warmup", "warmup_iterations",
       "calibration_precision", "add_stats", "logger", "warner", "disabled", "cprofile", "cprofile_loops",
       "cprofile_dump")  # fmt: skip


@pytest.mark.parametrize("more", [(), ("precision", "confidence")], ids=["5.1", "5.3"])
def test_versions_that_ask_for_less_or_more_get_what_they_ask_for(more: tuple[str, ...]) -> None:
    names = (*OLD, *more)
    theirs: dict[str, Any] = {}
    exec(f"class Fixture:\n    def __init__(self, {', '.join(names)}, group=None): pass", theirs)
    given = fixture_arguments(theirs["Fixture"], **NODE)
    assert set(given) == {*names, "group"}
    theirs["Fixture"](**given)


def test_a_version_that_asks_for_something_unknown_is_named() -> None:
    class Fixture:
        def __init__(self, node: object, moon_phase: object) -> None: ...

    with pytest.raises(TypeError, match="asks for moon_phase, which trnbench does not know"):
        fixture_arguments(Fixture, **NODE)


@pytest.mark.parametrize("iterations", [1, 7])
def test_samples_are_seconds_per_call(clock: Any, iterations: int) -> None:
    batch = time_batch(clock.call(1e-3), rounds=4, iterations=iterations, timer=clock)
    assert len(batch.samples) == 4
    assert batch.samples == pytest.approx([1e-3] * 4, rel=1e-3)
    assert batch.output == "right"


@pytest.mark.parametrize("iterations", [1, 3])
def test_beside_each_sample_stands_what_the_process_got_of_the_processor(iterations: int) -> None:
    asleep = time_batch(lambda: time.sleep(0.005), rounds=3, iterations=iterations)
    assert len(asleep.cpu_s) == len(asleep.preempted) == len(asleep.samples) == 3
    assert all(cpu_s < wall_s for cpu_s, wall_s in zip(asleep.cpu_s, asleep.samples, strict=True))
    busy = time_batch(lambda: sum(range(20_000)), rounds=3, iterations=iterations)
    assert all(cpu_s > 0.0 for cpu_s in busy.cpu_s)
    assert all(times >= 0 for times in busy.preempted)


def test_what_surrounds_a_sample_is_not_in_it(clock: Any) -> None:
    said: list[str] = []

    def before() -> str:
        said.append("before")
        clock.spend(5.0)
        return "no arguments"

    batch = time_batch(
        clock.call(1e-3), rounds=2, before=before, after=lambda: said.append("after"), timer=clock
    )
    assert batch.samples == pytest.approx([1e-3] * 2, rel=1e-3)
    assert said == ["before", "after"] * 2


def test_what_the_call_raises_passes_through(clock: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        time_batch(lambda: 1 / 0, timer=clock)


def test_a_fixture_of_pytests_is_given_times_from_elsewhere() -> None:
    fixture = BenchmarkFixture(
        **fixture_arguments(
            BenchmarkFixture,
            node=SimpleNamespace(name="n", nodeid="n"),
            timer=SimpleNamespace(target=None),
            add_stats=lambda _: None,
            logger=None,
        )
    )
    replay(fixture, (0.5, 0.25, 1.0))
    assert list(fixture.stats.stats.data) == [0.5, 0.25, 1.0]


def test_one_module_alone_knows_pytest_benchmark() -> None:
    package = Path(trnbench.__file__).parent
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any("import" in line and "pytest_benchmark" in line for line in path.read_text().splitlines())
    }
    assert users == {"measure/timing.py"}


# What the doctor says of a machine's noise, on recorded machines.


def machine(folder: Path, **files: str) -> dict[str, Noise]:
    places = {
        "governor": "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "no_turbo": "sys/devices/system/cpu/intel_pstate/no_turbo",
        "load": "proc/loadavg",
        "stat": "proc/stat",
        "quota": "sys/fs/cgroup/cpu.max",
        "source": "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "busy": "proc/4242/stat",
        "boost": "sys/devices/system/cpu/cpufreq/boost",
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
    assert not found["load"].quiet
    assert {f"{each.name}: {each.found}; {each.advice}" for each in found.values() if not each.quiet} >= {
        "clock governor: powersave; cpupower frequency-set -g performance",
        "clock boost: on; a result may exceed the nominal clock's peak, and fall as the machine warms up",
        "other processes: 1 running right now; end them: ps -eo pcpu,pid,comm --sort=-pcpu | head",
        "stolen time: 10.00% of all time since the start went to other virtual machines; "
        "a dedicated host, or a metal instance",
        "processor quota: 1.5 processors' worth of time, then a pause; "
        "run without a limit (--cpus) of the container",
    }
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
    assert (found["clock boost"].found, found["other processes"].found) == ("off", "none running right now")


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
    found = machine(tmp_path, stat="cpu  100 0 100 700 0 0 0\ncpu0 1 0 1 7 0 0 0 9 0\n", quota="150000 \n")
    assert found["clock governor"].quiet
    assert found["clock governor"].found == "not told: the clock is not ours to set"
    assert "processor quota" not in found
    assert "clock boost" not in found
    assert "stolen time" not in found
    for boost, told in (("1", "on"), ("0", "off")):
        assert machine(tmp_path, boost=boost)["clock boost"].found == told


@pytest.mark.parametrize(("pause", "lost"), [(1e-6, 0.0), (1e-3, 1.0)])
def test_gaps_are_time_in_which_nothing_was_seen(pause: float, lost: float) -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += pause
        return now[0]

    assert gaps(clock) == pytest.approx(lost, abs=0.03)
