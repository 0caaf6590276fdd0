"""Killed at any stage of any command that writes: what was safe is there, and everything can go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from forks import Forks
from tests.campaign.kills import Killing
from tests.campaign.scenarios import SCENARIOS, Scenario

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
