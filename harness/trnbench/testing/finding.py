"""What the kit finds: one line per broken promise."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """`about` is what it is about: a generation, an instance, a case, a section.

    A `warning` breaks no promise: something could not be looked at.
    """

    about: str
    problem: str
    try_: str
    check: str = ""
    warning: bool = False

    def __str__(self) -> str:
        grade = "warning: " if self.warning else ""
        return f"{self.check}: {self.about}\n  {grade}{self.problem}\n  try:   {self.try_}"


class Report(NamedTuple):
    """`counted` says, for each check made, how many things it looked at."""

    subjects: tuple[str, ...]
    findings: tuple[Finding, ...]
    counted: dict[str, int]

    @property
    def problems(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if not each.warning)

    @property
    def passed(self) -> bool:
        return not self.problems

    def summary(self) -> str:
        """One line: what was looked at, and the verdict."""
        looked = ", ".join(f"{name} {count}" for name, count in self.counted.items())
        problems = len(self.problems)
        warnings = len(self.findings) - problems
        verdict = f"{problems} problems" if problems else "all well"
        if warnings:
            verdict += f", {warnings} {'warning' if warnings == 1 else 'warnings'}"
        return f"{', '.join(self.subjects)}: {verdict} (looked at: {looked})"
