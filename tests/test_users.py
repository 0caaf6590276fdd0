"""`.ci/users`: the questions of six users, their commands and lines, and where the answer stands."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

SCRIPT: dict[str, Any] = run_path(str(Path(__file__).parents[1] / ".ci" / "users"))
TASKS = SCRIPT["tasks"]()
USERS = {
    "kernel writer",
    "CI engineer",
    "plugin author",
    "Python user",
    "hardware engineer",
    "infrastructure lead",
}
pytestmark = pytest.mark.parts


def test_six_users_ask() -> None:
    assert {task.user for task in TASKS} == USERS
    assert all(len(task.commands) == 1 for task in TASKS if task.user.endswith(("lead", "hardware engineer")))


@pytest.mark.campaign("documents")
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.asks)
def test_the_answer_stands_in_the_first_twelve_lines(task: Any) -> None:
    found = SCRIPT["tried"](task)
    assert found.failed == ""
    assert found.well, found.row()


def test_eight_rows_take_twelve_lines(tmp_path: Path) -> None:
    sizes = "size=1M,2M,4M,8M,16M,32M,64M,128M"
    words = ("all_reduce", "--dtype", "bf16", "-a", sizes, "-i", "trn3-gen2-ultraserver", "--no-report", "-q")
    code, lines = SCRIPT["at_terminal"](("trnbench", "run", *words), tmp_path)
    assert (code, len(lines) <= SCRIPT["SHORT"]) == (0, True)
    assert max(map(len, lines)) <= SCRIPT["COLUMNS"]


@pytest.mark.parametrize(
    ("lines", "line"),
    [((), 0), (("a", "b"), 0), (("it is", "fastest,"), 2), (("fastest", "is fastest"), 2)],
)
def test_an_answer_may_be_broken_over_lines(lines: tuple[str, ...], line: int) -> None:
    assert SCRIPT["place"](lines, "is fastest") == line


def test_a_command_that_fails_is_told(tmp_path: Path) -> None:
    task = SCRIPT["Task"]("somebody", "nothing", ("trnbench no-such-command",), "answer")
    found = SCRIPT["tried"](task)
    assert (found.well, found.failed) == (False, "trnbench no-such-command: exit code 2")


@pytest.mark.parametrize(
    ("line", "stands"),
    [
        ("4 × trn2-16.48xlarge (tp 32), maybe: 28.5 ms a token, $160 an hour, $22.2 per M tokens.", 1),
        ("0 × trn2-16.48xlarge (tp 32), maybe: 28.5 ms a token, $160 an hour, $22.2 per M tokens.", 0),
        ("trn2-16.48xlarge (tp 32): 28.5 ms a token, $160 an hour, $22.2 per M tokens.", 0),
        ("4 × trn2-16.48xlarge (tp 32), maybe: 28.5 ms a token, $22.2 per M tokens.", 0),
        ("Price: trn2-16.48xlarge, nowhere, made up, 40 dollars an hour on 2026-11-01.", 0),
    ],
)  # fmt: skip
def test_how_many_at_what_price_is_answered_by_both(line: str, stands: int) -> None:
    (task,) = (task for task in TASKS if task.user == "infrastructure lead")
    assert SCRIPT["place"]([line], task.answer) == stands
