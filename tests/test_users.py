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


def test_a_command_that_fails_is_told() -> None:
    task = SCRIPT["Task"]("somebody", "nothing", ("trnbench no-such-command",), "answer")
    found = SCRIPT["tried"](task)
    assert (found.well, found.failed) == (False, "trnbench no-such-command: exit code 2")
