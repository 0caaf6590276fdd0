"""The adapter to pytest-benchmark: arguments of every version, samples per call, output of the last call."""

from __future__ import annotations

import inspect
import time
from importlib import metadata
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

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
    from types import SimpleNamespace

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
    from pathlib import Path

    import trnbench

    package = Path(trnbench.__file__).parent
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any("import" in line and "pytest_benchmark" in line for line in path.read_text().splitlines())
    }
    assert users == {"measure/timing.py"}
