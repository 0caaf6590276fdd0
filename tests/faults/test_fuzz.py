"""Inputs drawn at random and processes killed: samples of the campaigns."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from forks import Forks
from tests.campaign.damages import READERS, Damages
from tests.campaign.kills import Killing
from tests.campaign.rule import broken
from tests.campaign.scenarios import SCENARIOS, Scenario

from trnbench.store.store import Store


def campaign(root: Path, *words: str, state: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.campaign", "--format", "json", *words]
    if state is not None:
        command += ["--state", str(state)]
    return subprocess.run(
        command, cwd=root, env=_environment(root), capture_output=True, text=True, timeout=600
    )


def _environment(root: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}


@pytest.mark.parametrize(
    ("code", "said", "how"),
    [
        (0, "", ""),
        (2, "error: it is no size\n  cause: x\n  try:   1K\n", ""),
        (3, "error: x\n", "exit code 3: error: x\n"),
        (2, "", "0 messages with exit code 2: "),
        (2, "error: a\nerror: b\n", "2 messages with exit code 2: error: a\nerror: b\n"),
        (0, "error: a\n", "1 messages with exit code 0: error: a\n"),
        (2, "error: a\n  try:   \n", "a part of its message is empty: error: a\n  try:   \n"),
        (2, "error: a\x1b[2J\n", "unseen characters in its message: 'error: a\\x1b[2J\\n'"),
        (2, "error: internal error: x\n", "it blames itself: internal error: x\n"),
    ],
)
def test_the_rule(code: int, said: str, how: str) -> None:
    assert broken(code, said, {0, 1, 2, 5}) == how


@pytest.mark.campaign("faults")
def test_each_surface_keeps_the_rule_and_nothing_is_lost(root: Path) -> None:
    """The campaign in small: every surface with many inputs, one in a thousand through the command."""
    done = campaign(
        root, "--kills", "2", "--writers", "2", "--inputs", "1000", "--damages", "100", "--seed", "7"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert (told["killed"], told["lost"], told["writers"], told["writers_lost"]) == (2, 0, 2, 0)
    assert (told["inputs"], told["commands"], told["broken"]) == (1000, 1, 0)
    assert (told["damages"], told["ruined"]) == (100, 0)
    assert told["problems"] == []


@pytest.mark.campaign("faults")
def test_interrupted_it_says_how_far_it_came_and_goes_on_from_there(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    words = ("--kills", "0", "--writers", "0", "--damages", "0", "--inputs", "100000000")
    begun = subprocess.Popen(
        [sys.executable, "-m", "tests.campaign", "--format", "json", *words, "--state", str(state)],
        cwd=root,
        env=_environment(root),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        text=True,
    )
    while not state.exists() and begun.poll() is None:
        time.sleep(0.05)
    begun.send_signal(signal.SIGINT)
    out, err = begun.communicate(timeout=300)
    assert begun.returncode == 130, err
    first: dict[str, Any] = json.loads(out)
    assert first["interrupted"]
    assert 0 < first["inputs"] < 100000000
    goal = str(first["inputs"] + 50)
    again = campaign(root, *words[:-1], goal, state=state)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["inputs"] == int(goal)
    other = campaign(root, "--seed", "1", state=state)
    assert other.returncode == 2
    assert f"{state} is of seed 0" in other.stderr


def test_damaged_stores_are_called_damaged_and_give_back_what_their_journals_have(tmp_path: Path) -> None:
    """Those of the campaign that once ended a reader, and the first of it."""
    damages = Damages(tmp_path)
    assert [ruin for _, ruin in damages.ruins(1, (5, 13, *range(24))) if ruin is not None] == []


def test_a_reader_that_breaks_and_a_row_that_is_lost_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damages = Damages(tmp_path)

    def broken(store: Store) -> None:
        raise TypeError("a number")

    monkeypatch.setitem(READERS, "runs list", broken)
    assert damages.drawn(1, 0).how == "runs list: TypeError: a number"
    monkeypatch.setitem(READERS, "runs list", lambda store: None)
    monkeypatch.setitem(READERS, "store repair", lambda store: shutil.rmtree(store.path.parent))
    assert any("does not open" in ruin.how for _, ruin in damages.ruins(1, range(4)) if ruin is not None)


# Killed at any stage of any command that writes: what was safe is there, and everything can go on.


MOST = 2
"""Steps of a scenario, evenly from first to last; the campaign takes any."""


@pytest.fixture(scope="module")
def killing(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Killing:
    return Killing(forks, tmp_path_factory.mktemp("kills"))


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(each, id=each.name, marks=() if each.name == "run" else pytest.mark.campaign("faults"))
        for each in SCENARIOS
    ],
)
def test_at_its_steps_and_at_a_moment(killing: Killing, scenario: Scenario) -> None:
    steps = killing.steps(scenario)
    kills = [killing.at_step(scenario, step) for step in steps[:: max(1, -(-len(steps) // MOST))]]
    assert all(each.killed for each in kills), kills
    kills.append(killing.at_moment(scenario, 0.5))
    assert [each for each in kills if each.problems] == []


def test_what_is_wrong_would_be_seen(killing: Killing, tmp_path: Path) -> None:
    """A store that loses what it was given does not pass."""
    (run,) = (each for each in SCENARIOS if each.name == "run")
    folder = tmp_path / "work"
    folder.mkdir()
    done = killing.trnbench(folder, "run")
    assert list(run.check(killing.trnbench, folder, done.recorded)) == []
    for journal in (folder / "r.db.journals").iterdir():
        journal.unlink()
    killing.trnbench(folder, "runs", "delete", "latest", "--yes")
    assert list(run.check(killing.trnbench, folder, done.recorded)) == ["5 cases were safe, 0 runs are there"]
