"""What a campaign has come to: counted, kept in a file between two goes, and printed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from tests.campaign.damages import Ruin
from tests.campaign.inputs import Broken
from tests.campaign.kills import Kill

SHOWN = 20
"""Problems that are kept word for word; all are counted."""


class Figures(msgspec.Struct, kw_only=True):
    """`tried` counts kills drawn, of which some came after the command had ended; `asked` is the goal."""

    seed: int = 0
    asked: dict[str, int] = {}
    tried: int = 0
    kills: dict[str, int] = {}
    lost: int = 0
    writers: int = 0
    writers_lost: int = 0
    inputs: int = 0
    commands: int = 0
    damages: int = 0
    ruined: int = 0
    broken: int = 0
    cpu_s: float = 0.0
    problems: list[str] = []

    @property
    def killed(self) -> int:
        return sum(self.kills.values())

    @property
    def well(self) -> bool:
        return not (self.lost or self.writers_lost or self.broken or self.ruined)

    def add_kill(self, kill: Kill) -> None:
        self.tried += 1
        self.kills = dict(Counter(self.kills) + Counter({kill.scenario: int(kill.killed)}))
        self.lost += bool(kill.problems)
        self._keep(
            f"{kill.scenario}, killed at {kill.how}: {'; '.join(kill.problems)}" if kill.problems else ""
        )

    def add_writers(self, count: int, problems: Sequence[str]) -> None:
        self.writers += count
        self.writers_lost += len(problems)
        self._keep("; ".join(problems))

    def add_input(self, done: int, broken: Broken | None, *, command: bool = False) -> None:
        if command:
            self.commands += done
        else:
            self.inputs = done
        self.broken += broken is not None
        self._keep(f"{broken.surface} with {broken.text[:200]!r}: {broken.how}" if broken else "")

    def add_damage(self, done: int, ruin: Ruin | None) -> None:
        self.damages = done
        self.ruined += ruin is not None
        self._keep(f"damage {ruin.number} ({ruin.what}): {ruin.how}" if ruin else "")

    def _keep(self, problem: str) -> None:
        if problem and len(self.problems) < SHOWN:
            self.problems = [*self.problems, problem]

    def as_json(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "killed": self.killed, "well": self.well}

    def as_text(self) -> str:
        by_scenario = ", ".join(f"{name} {count:,}" for name, count in sorted(self.kills.items()))
        lines = [
            f"seed     {self.seed}",
            f"kills    {self.killed:,} of {self.asked.get('kills', 0):,} ({by_scenario}); "
            f"{self.tried - self.killed:,} came after the end; {self.lost:,} lost something",
            f"writers  {self.writers:,} at once; {self.writers_lost:,} lost something",
            f"inputs   {self.inputs:,} of {self.asked.get('inputs', 0):,} in process, "
            f"{self.commands:,} through the command; {self.broken:,} broke the rule",
            f"damages  {self.damages:,} of {self.asked.get('damages', 0):,}; "
            f"{self.ruined:,} ended a reader or lost what a journal has",
            f"took     {self.cpu_s:,.0f} s of processor time",
        ]
        return "\n".join([*lines, *(f"- {each}" for each in self.problems)])


def load(path: Path) -> Figures:
    """Those kept in a file, new ones where there is none."""
    return msgspec.json.decode(path.read_bytes(), type=Figures) if path.exists() else Figures()


def save(path: Path, figures: Figures) -> None:
    part = path.with_name(path.name + ".new")
    part.write_text(json.dumps(msgspec.to_builtins(figures)))
    part.replace(path)
