"""Two versions measured in turns: what sides are, which clock decides, what pairs say, and the commands."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random

import planted_kernels
import pytest
from command import typed

from trnbench.backend import Program
from trnbench.compare.comparison import effect_verdict
from trnbench.compare.pairing.duel import Course, Player, Wish, batch, trial
from trnbench.compare.pairing.instructions import counter, counts
from trnbench.compare.pairing.operand import Kind, operands
from trnbench.compare.pairing.outcome import Played, played
from trnbench.compare.pairing.stage import Apart, OneProcess
from trnbench.errors import UsageError
from trnbench.measure.turns import Clock, Turn, Turns, clock_of
from trnbench.registry import Discovered, Origin, Registry, load_registry
from trnbench.results.measurement import Verdict
from trnbench.results.statistics import median_interval

QUICK = 0.01


@pytest.fixture(scope="module")
def known() -> Registry:
    return load_registry(extra=[Discovered(Origin("planted", "planted", "1"), lambda: planted_kernels)])


def asked(kernel: str, **more: object) -> Wish:
    return Wish(**{"backend": "host", "kernels": (kernel,), "sample_s": QUICK, **more})  # type: ignore[arg-type]


def seen(known: Registry, kernel: str, first: str, second: str) -> Played:
    wish = asked(kernel)
    (found,) = played(OneProcess(known, wish, operands(first, second, known.kernels)), wish, lambda _: None)
    return found


# ---- what sides are


@pytest.mark.parametrize(
    ("text", "kind"),
    [("gemm", Kind.KERNEL), ("size=512", Kind.SETTING), ("a.toml", Kind.FACTS), (".", Kind.SOURCES)],
)
def test_a_word_says_what_it_names(
    text: str, kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").touch()
    (tmp_path / "gemm").mkdir()
    assert [each.kind for each in operands(text, text, {"gemm": 1})] == [kind, kind]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """A plugin under git in the working folder, with a kernel of so many hundredths of work."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "plugin"
    package = folder / "src" / "trnbench_planted"
    package.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "trnbench-planted"\nversion = "1"\n'
        '[project.entry-points.trnbench]\nplanted = "trnbench_planted"\n'
    )
    monkeypatch.chdir(folder)
    source = Path(planted_kernels.__file__).read_text()

    def write(work: int) -> None:
        scaled = source.replace('int(point["work"])', f'int(point["work"]) * {work} // 100')
        (package / "__init__.py").write_text(scaled)

    return write


def commit() -> None:
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "before")):
        subprocess.run(["git", *who, *words], check=True, capture_output=True)


def test_two_commits_are_measured_in_a_process_each(project: Callable[[int], None]) -> None:
    project(100)
    commit()
    project(1000)
    sides = operands("HEAD", ".", {})
    assert [bool(side.commit) for side in sides] == [True, False]
    wish = asked("planted_python")
    with ExitStack() as stack:
        (found,) = played(Apart(wish, sides, stack), wish, lambda _: None)
    assert not found.why
    assert len(found.batches) == Apart.batches
    assert all(each.log_ratio > 1.0 for each in found.batches)  # ten times the work


# ---- clocks and turns


def turn(thread: float, wall: float, process: float, waited: int = 0, device: float = 0.0) -> Turn:
    return Turn(thread, wall, process, waited, device)


@pytest.mark.parametrize(
    ("turns", "clock"),
    [
        ([turn(1.0, 3.0, 1.0)], Clock.THREAD),  # preempted: the wall's went on
        ([turn(0.5, 1.0, 1.5)], Clock.WALL),  # other threads work
        ([turn(0.1, 1.0, 0.1, waited=1)], Clock.WALL),  # a process or device works
        ([turn(0.1, 1.0, 0.1, waited=1, device=0.8)], Clock.DEVICE),
    ],
)
def test_the_clock_that_sees_the_work_decides(turns: list[Turn], clock: Clock) -> None:
    assert clock_of(turns) is clock
    assert turns[0].by(clock) in (turns[0].thread_s, turns[0].wall_s, turns[0].device_s)


def test_a_turn_of_several_calls_has_one_before_it() -> None:
    calls: list[int] = []
    program = Program(run=lambda: calls.append(1), check=lambda _: "", awaited="so", checked="so")
    Turns(program).take(1)
    assert len(calls) == 1
    Turns(program).take(3)
    assert len(calls) == 5


class Steady:
    """Takes what it is told, and twice that while the machine is slow."""

    def __init__(self, seconds: float, slow: Iterator[float]) -> None:
        self.seconds, self.slow = seconds, slow

    def take(self, calls: int) -> Turn:
        time_s = calls * self.seconds * next(self.slow)
        return turn(time_s, time_s, time_s)


def test_what_slows_the_machine_for_a_while_is_not_in_the_ratio() -> None:
    speed = (1.0 + (number // 40) % 3 for number in range(10**6))
    sides = Steady(1.0, speed), Steady(1.05, speed)

    def ready(first_first: bool, seed: int, use: Callable[[Player, Player], None]) -> None:
        use(*sides)

    found = batch(ready, Course(Clock.THREAD, 4, 500), Random(1), 0.0)
    assert (found.rounds, found.pairs) == (1, 500)
    assert found.log_ratio == pytest.approx(0.04879, abs=1e-5)


def test_a_call_that_repeats_its_work_counts_as_often() -> None:
    once, often = (
        Turns(Program(run=lambda: None, check=str, awaited="so", checked="so", repeats=repeats))
        for repeats in (1.0, 1e6)
    )

    def ready(first_first: bool, seed: int, use: Callable[[Player, Player], None]) -> None:
        use(once, often)

    assert batch(ready, Course(Clock.WALL, 10, 50), Random(1), 0.0).log_ratio < -10.0


def test_the_course_of_a_case_fits_its_calls() -> None:
    def ready(first_first: bool, seed: int, use: Callable[[Player, Player], None]) -> None:
        use(Steady(1e-5, iter(lambda: 1.0, None)), Steady(1e-5, iter(lambda: 1.0, None)))

    assert trial(ready)[:2] == (Clock.THREAD, 50)


# ---- what batches say


@pytest.mark.parametrize(
    ("count", "left_out"), [(7, None), (8, 0), (12, 1), (16, 2), (24, 5)]
)  # tables of the sign test at 99 %
def test_the_interval_of_a_median_by_ranks(count: int, left_out: int | None) -> None:
    found = median_interval([float(number) for number in range(count)], 0.99)
    if left_out is None:
        assert (found.low, found.high) == (float("-inf"), float("inf"))
    else:
        assert (found.low, found.high) == (left_out, count - 1 - left_out)


# ---- through a backend


def test_two_settings_are_measured_in_one_process(known: Registry) -> None:
    found = seen(known, "planted_python", "work=10", "work=1000")
    assert found.course.clock is Clock.THREAD
    assert len(found.batches) == OneProcess.batches
    assert all(each.log_ratio > 1.0 for each in found.batches)  # a hundred times the work


def test_what_waits_is_decided_by_the_wall(known: Registry) -> None:
    found = seen(known, "planted_sleeper", "work=10", "work=40")
    assert found.course.clock is Clock.WALL


def test_a_wrong_output_is_told_and_is_no_time(known: Registry) -> None:
    found = seen(known, "planted_wrong", "work=100", "work=101")
    assert found.why == (
        "host::planted_wrong[work=101]@core: the output is wrong: not what it should be (first call)"
    )
    assert found.batches == ()


def test_the_command_says_which_clock_decided() -> None:
    line = "compare --paired stream_copy stream_scale -a size=16384 -k core --sample-time 0.01 --format json"
    done = typed(*line.split())
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    (row,) = document["changes"]
    assert row["metric"] == "thread_time_s"
    assert row["low"] <= row["effect"] <= row["high"]
    assert "pairs A,B,B,A or B,A,A,B in one process" in document["notes"][0]


def test_the_gate_fails_of_what_is_slower() -> None:
    line = "gate size=1M --against size=16K --paired --kernel stream_copy -k core --sample-time 0.2"
    done = typed(*line.split())
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (1, "gate failed: 1 failed")


# ---- instructions


def test_without_a_counter_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(UsageError, match="nothing here counts instructions") as error:
        counter()
    assert "apt-get install valgrind" in error.value.try_


def test_a_count_that_rose_is_no_time() -> None:
    assert [effect_verdict(each, 0.002) for each in (0.001, 0.003, -0.003)] == [
        Verdict.SAME,
        Verdict.SLOWER,
        Verdict.FASTER,
    ]
    assert [effect_verdict(each, 0.0) for each in (0.0, 1e-9)] == [Verdict.SAME, Verdict.SLOWER]


@pytest.mark.campaign("hours")
def test_three_per_cent_more_loops_are_three_per_cent_more_instructions(
    project: Callable[[int], None],
) -> None:
    project(100)
    commit()
    project(103)
    (found,) = counts(asked("planted_python"), operands("HEAD", ".", {}), counter())
    assert (found.metric, found.verdict, found.exact) == ("instructions", Verdict.SLOWER, True)
    assert found.effect == pytest.approx(0.03, abs=0.002)
