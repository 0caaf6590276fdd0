"""Pairs without a machine that is timed: rounds, what batches say, sides, and counts of instructions."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import tiny_machine as tiny
from msgspec.structs import replace
from paired_runs import case
from stored_run import text_of

from trnbench import Case, Detection, Grade, NothingSelected, Status, System
from trnbench.compare.change import Change, Side
from trnbench.compare.gate.rule import Direction, Rule
from trnbench.compare.pairing import duel
from trnbench.compare.pairing.duel import Batch, Course, Player, Wish, batch, trial
from trnbench.compare.pairing.instructions import Counter, counts
from trnbench.compare.pairing.operand import Kind, Operand
from trnbench.compare.pairing.outcome import Played, change, comparison, gated
from trnbench.compare.pairing.stage import Apart
from trnbench.errors import UsageError
from trnbench.measure.turns import Clock, Turn
from trnbench.results.measurement import Verdict
from trnbench.results.statistics import Interval
from trnbench.version import VERSION


class Table:
    """Two players on a clock that only they and their preparation move; of their turns they have half."""

    def __init__(self, prepared_s: float) -> None:
        self.prepared_s, self.now, self.asked = prepared_s, 0.0, ""
        self.rounds: list[tuple[bool, int]] = []

    def perf_counter(self) -> float:
        return self.now

    monotonic = perf_counter

    def ready(self, first_first: bool, seed: int, use: Callable[[Player, Player], None]) -> None:
        self.now += self.prepared_s
        self.rounds.append((first_first, seed))
        first, second = (SimpleNamespace(take=partial(self._take, name)) for name in "ab")
        use(first, second)

    def _take(self, name: str, calls: int) -> Turn:
        self.asked += name
        wall = calls * (1e-3 if name == "a" else 2e-3)
        self.now += wall
        return Turn(wall / 2, wall, wall / 2, 0, repeats=5.0)


@pytest.mark.parametrize(("prepared_s", "pairs"), [(0.0, 2), (0.012, 3), (0.016, 4), (9.0, 16)])
def test_a_round_has_as_many_pairs_as_take_as_long_as_its_preparation(
    monkeypatch: pytest.MonkeyPatch, prepared_s: float, pairs: int
) -> None:
    table = Table(prepared_s)
    monkeypatch.setattr(duel, "time", table)
    assert trial(table.ready) == Course(Clock.THREAD, 1, pairs)
    assert table.asked == ("aaabbb" + "a" * 7 + "b" * 7) * 2
    assert table.rounds == [(True, 0)] * 2


@pytest.mark.parametrize(
    ("clock", "share", "rounds"),
    # A round lasts 0.1 s of preparation and 0.048 s of turns.
    [(Clock.WALL, 1.0, 3), (Clock.THREAD, 0.5, 5)],
)
def test_a_batch_lasts_longer_where_others_have_the_processor(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, share: float, rounds: int
) -> None:
    table = Table(0.1)
    monkeypatch.setattr(duel, "time", table)
    seconds = pytest.approx(share * 2e-4), pytest.approx(share * 4e-4)
    found = batch(table.ready, Course(clock, 4, 2), Random(7), 0.3)
    assert found == Batch(pytest.approx(0.693147), *seconds, rounds, 2 * rounds)
    assert set(re.findall("....", table.asked)) == {"abba", "baab"}
    assert {first_first for first_first, _ in table.rounds} == {True, False}


# ---- what is said of batches


def told(logs: list[float] | None) -> Change:
    """What is said of batches with these logarithms; None: of none, since one broke."""
    course = Course(Clock.THREAD, 1, 2) if logs is not None else None
    batches = tuple(Batch(log, 1.0 + at, 2.0 + at, 1, 2) for at, log in enumerate(logs or ()))
    return change(Played((case("a"), case("b")), course, batches, "" if logs else "it broke"), "host", 0.01)


def side(name: str, value: float | None, status: Status = Status.OK) -> Side:
    fields = {"grade": Grade.MEASURED, "by": "host", "version": VERSION}
    return Side(id=f"host::{name}@core", value=value, status=status, **fields)  # type: ignore[arg-type]


def test_a_change_of_pairs() -> None:
    assert told([0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]) == Change(
        case=case("b"),
        metric="thread_time_s",
        before=side("a", 4.5),
        after=side("b", 5.5),
        effect=pytest.approx(0.1051709),
        interval=Interval(low=pytest.approx(0.1051709), high=pytest.approx(0.2214028), confidence=0.99),
        verdict=Verdict.SLOWER,
    )
    failed = side("a", None, Status.FAILED), side("b", None, Status.FAILED)
    assert told(None) == Change(
        case=case("b"), before=failed[0], after=failed[1], verdict=Verdict.UNKNOWN, why="it broke"
    )


@pytest.mark.parametrize(
    ("logs", "verdict"),
    [
        ([0.05] * 8, Verdict.SLOWER),
        ([-0.05] * 8, Verdict.FASTER),
        ([0.05, 0.06, 0.07, 0.05, 0.06, 0.07, 0.05, -0.001], Verdict.SAME),  # the interval holds nothing
        ([0.0099] * 8, Verdict.SAME),  # less than the threshold
    ],
)
def test_a_verdict_takes_an_interval_and_a_size(logs: list[float], verdict: Verdict) -> None:
    assert told(logs).verdict is verdict


SIDES = (Operand("a", Kind.KERNEL), Operand("b", Kind.KERNEL))
ROSE = "thread_time_s +5.1 % (+5.1 to +5.1 %), rule {}"
FELL = "thread_time_s −4.9 % (−4.9 to −4.9 %), rule r allows 1 %"
WIDE = (
    "thread_time_s 0 % (−2.0 to +2.0 %), rule r allows 1.5 %, and the interval reaches beyond that; "
    "--sample-time 60 narrows it"
)
PASSED = ("passed", "", "")


@pytest.mark.parametrize(
    ("logs", "rule", "finding"),
    [
        ([0.05] * 8, {}, ("failed", "slower", ROSE.format("r allows 1 %"))),
        ([-0.05] * 8, {}, PASSED),
        ([-0.05] * 8, {"direction": Direction.BETTER}, ("failed", "faster", FELL)),
        ([0.05] * 8, {"direction": Direction.NONE}, PASSED),
        ([-0.02, 0.02] * 4, {"tolerance": 0.015}, ("inconclusive", "metric", WIDE)),
        ([-0.02, 0.02] * 4, {"tolerance": 0.021}, PASSED),
        ([0.05] * 8, {"tolerance": 0.051}, ("failed", "slower", ROSE.format("r allows 5.1 %"))),
        ([0.05] * 8, {"tolerance": 0.052}, PASSED),
        (None, {}, ("failed", "failure", "it cannot be compared: it broke")),
    ],
)
def test_a_finding_of_pairs(logs: list[float] | None, rule: Any, finding: tuple[str, ...]) -> None:
    compared = comparison(SIDES, [told(logs)], "host", 0.01, ())
    judged = gated(compared, [Rule(name="r", **rule)], strict=True)
    (found,) = judged.findings
    assert (found.id, found.rule, found.change) == ("host::a@core → host::b@core", "r", compared.changes[0])
    assert (str(found.outcome), found.kind, found.what) == finding
    assert judged.passed is (finding == PASSED)


def test_what_changed_most_comes_first() -> None:
    changes = [told([log] * 8) for log in (0.0, 0.03, -0.04, 0.005)]
    found = comparison(SIDES, changes, "host", 0.01, ("a note",))
    assert [round(each.effect, 3) for each in found.changes] == [-0.039, 0.03, 0.005, 0.0]
    assert [(each.id, each.cases) for each in (found.before, found.after)] == [("a", 4), ("b", 4)]
    assert (found.threshold, found.confidence, found.notes) == (0.01, 0.99, ("a note",))


class Measuring(tiny.Actor):
    """Measures one mode on the tiny machine."""

    def detect(self) -> Detection:
        return Detection(available=True, instance="tiny.2")

    def unsupported(self, case: Case, system: System) -> str:
        mode = case.key.point["mode"]
        return "" if mode == "half" else f"it refuses {mode}"


def test_what_a_side_can_be_measured_in() -> None:
    known = tiny.registry("half", "low", "above", "huge", backend=Measuring())
    mode = [Operand(f"mode={each}", Kind.SETTING) for each in ("half,low", "low,above", "huge")]
    (seat,) = duel.seats(known, Wish(), mode[0])
    assert (seat.case.key.point, seat.system.name) == ({"dtype": "bf16", "mode": "half"}, "tiny.2")
    (key,) = duel.keyed([seat], Operand("act.mode=half", Kind.SETTING))
    assert key == "tiny.2::act[dtype=bf16]@core"
    (key,) = duel.keyed([seat], Operand("act", Kind.KERNEL))
    assert key == "tiny.2::[dtype=bf16,mode=half]@core"
    why = "it refuses low", "each is skipped"
    for side, cause in zip(mode[1:], why, strict=True):
        assert text_of(NothingSelected, duel.seats, known, Wish(), side) == (
            f"backend 'emulated' can measure no case of {side.typed}\n  cause: {cause}\n"
            "  try:   trnbench run --dry-run --backend NAME  says why"
        )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "python" / "my_plugin").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "my-plugin"\n[project.entry-points.trnbench]\nmine = "my_plugin.all"\n'
    )
    return folder


def test_a_process_that_cannot_plan_says_why(project: Path) -> None:
    sides = Operand(str(project), Kind.SOURCES), Operand(str(project), Kind.SOURCES)
    with ExitStack() as stack:
        said = text_of(UsageError, Apart, Wish(backend="hots"), sides, stack)
    assert said == (
        f"{project}: unknown backend 'hots'\n  cause: did you mean host?\n  try:   trnbench list backends"
    )


COUNTS = """import json, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
(typed, _, _), _, place, calls = json.loads(sys.argv[-1])
count = 10**6 + calls * (2000 if "=fp64" in typed else 1000)
print(f"I refs: 7\\nI refs: {count:,}", file=sys.stderr)
"""


def test_instructions_are_those_between_n_calls_and_twice_as_many(tmp_path: Path) -> None:
    (tmp_path / "counts.py").write_text(COUNTS)
    by = Counter("a counter", (sys.executable, str(tmp_path / "counts.py")), r"I refs: ([\d,]+)")
    sides = Operand("dtype=fp32", Kind.SETTING), Operand("dtype=fp64", Kind.SETTING)
    wish = Wish(backend="host", kernels=("host_matmul",), axes=("size=64",), keyword="core")
    (found,) = counts(wish, sides, by)
    ids = [f"host::host_matmul[dtype={each},size=64]@core" for each in ("fp32", "fp64")]
    assert found == Change(
        case=found.case,
        metric="instructions",
        unit="",
        before=replace(side("", 1000.0), id=ids[0], by=""),
        after=replace(side("", 2000.0), id=ids[1], by=""),
        effect=1.0,
        exact=True,
        verdict=Verdict.SLOWER,
    )
    assert text_of(UsageError, counts, Wish(backend="hots"), sides, by) == (
        "the process whose instructions are counted has failed\n"
        "  cause: unknown backend 'hots': did you mean host?\n"
        "  try:   without --instructions, to see whether the case runs"
    )
