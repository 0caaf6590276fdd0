"""What the kit finds: one line per broken promise."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """`about` is what it is about: a generation, an instance, a case, a section."""

    about: str
    problem: str
    try_: str
    check: str = ""

    def __str__(self) -> str:
        return f"{self.check}: {self.about}\n  {self.problem}\n  try:   {self.try_}"


class Report(NamedTuple):
    """`counted` says, for each check made, how many things it looked at."""

    subjects: tuple[str, ...]
    findings: tuple[Finding, ...]
    counted: dict[str, int]

    @property
    def passed(self) -> bool:
        return not self.findings

    def summary(self) -> str:
        """One line: what was looked at, and the verdict."""
        looked = ", ".join(f"{name} {count}" for name, count in self.counted.items())
        verdict = "all well" if self.passed else f"{len(self.findings)} problems"
        return f"{', '.join(self.subjects)}: {verdict} (looked at: {looked})"
