"""One kill: a folder made anew, a command killed in it at a step or a moment, and what is wrong then."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.campaign.scenarios import MODES, SCENARIOS, Scenario, Trnbench


class Step(NamedTuple):
    """As `killed.kill_at` has it."""

    name: str
    number: int

    def __str__(self) -> str:
        return f"{self.name} {self.number}"


class Kill(NamedTuple):
    """`killed` is False where the command had ended before."""

    scenario: str
    how: str
    killed: bool
    problems: tuple[str, ...]


class Killing:
    """Folders of the scenarios, prepared once in `home` and copied for each kill."""

    def __init__(self, trnbench: Trnbench, home: Path) -> None:
        self._home = home
        self._trnbench = trnbench
        self._steps: dict[str, list[Step]] = {}
        self._wall_s: dict[str, float] = {}

    def trnbench(self, folder: Path, *words: str, **more: object) -> object:
        return self._trnbench(folder, *words, modes=list(MODES), **more)

    def steps(self, scenario: Scenario) -> list[Step]:
        """All steps of the undisturbed command, as they are counted."""
        self._measure(scenario)
        return self._steps[scenario.name]

    def at_step(self, scenario: Scenario, step: Step) -> Kill:
        return self._carried_out(scenario, str(step), before=[["killed", "kill_at", step.name, step.number]])

    def at_moment(self, scenario: Scenario, share: float) -> Kill:
        """`share` of the time that the undisturbed command takes."""
        self._measure(scenario)
        kill_s = share * self._wall_s[scenario.name]
        return self._carried_out(scenario, f"{share:.0%} of its time", kill_s=kill_s)

    def drawn(self, seed: int, number: int) -> Kill:
        """The kill that belongs to a number: half of them at a step, half at a moment."""
        drawn = random.Random(f"{seed}/{number}")
        (scenario,) = drawn.choices(SCENARIOS, [each.weight for each in SCENARIOS])
        if drawn.random() < 0.5:
            return self.at_step(scenario, drawn.choice(self.steps(scenario)))
        return self.at_moment(scenario, drawn.uniform(0.02, 1.0))

    def _carried_out(self, scenario: Scenario, how: str, **more: object) -> Kill:
        with tempfile.TemporaryDirectory(dir=self._home) as made:
            folder = Path(made) / "work"
            shutil.copytree(self._prepared(scenario), folder)
            answer = self.trnbench(folder, *scenario.words, **more)
            problems = []
            if answer.code == 3 or "Traceback" in answer.stderr:
                problems.append(f"exit {answer.code}: {answer.stderr[-300:]}")
            if answer.left:
                problems.append(f"{answer.left} processes outlived the command")
            problems += scenario.check(self.trnbench, folder, answer.recorded)
        return Kill(scenario.name, how, answer.code == -9, tuple(problems))

    def _prepared(self, scenario: Scenario) -> Path:
        folder = self._home / scenario.prepare.__name__
        if not folder.exists():
            folder.mkdir()
            scenario.prepare(self.trnbench, folder)
        return folder

    def _measure(self, scenario: Scenario) -> None:
        if scenario.name in self._steps:
            return
        with tempfile.TemporaryDirectory(dir=self._home) as made:
            folder, counts = Path(made) / "work", Path(made) / "steps.json"
            shutil.copytree(self._prepared(scenario), folder)
            answer = self.trnbench(folder, *scenario.words, before=[["killed", "count_steps", str(counts)]])
            counted = json.loads(counts.read_text())
        self._wall_s[scenario.name] = answer.wall_s
        self._steps[scenario.name] = [
            Step(name, number) for name, count in sorted(counted.items()) for number in range(1, count + 1)
        ]
