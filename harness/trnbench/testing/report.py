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


_PLACES = 4
"""So many further places of a repeated finding are named."""


class Repeated(NamedTuple):
    """Findings of one problem: it is told once, with how often and where else it was met."""

    first: Finding
    others: tuple[Finding, ...] = ()

    @property
    def times(self) -> int:
        return 1 + len(self.others)

    def __str__(self) -> str:
        if not self.others:
            return str(self.first)
        at = (self.first.check, self.first.about)
        places = [spot for spot in dict.fromkeys((o.check, o.about) for o in self.others) if spot != at]
        named = ", ".join(f"{check}: {about}" for check, about in places[:_PLACES])
        more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
        also = f", also in {named}{more}" if places else ""
        return f"{self.first}\n  {self.times} times{also}"


class Report(NamedTuple):
    """`counted` says, for each check made, how many things it looked at."""

    subjects: tuple[str, ...]
    findings: tuple[Finding, ...]
    counted: dict[str, int]

    @property
    def problems(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if not finding.warning)

    @property
    def repeated(self) -> tuple[Repeated, ...]:
        """Each problem once: the checks that need a broken file all meet the same one."""
        alike: dict[tuple[str, str, bool], list[Finding]] = {}
        for finding in self.findings:
            alike.setdefault((finding.problem, finding.try_, finding.warning), []).append(finding)
        return tuple(Repeated(first, tuple(others)) for first, *others in alike.values())

    @property
    def passed(self) -> bool:
        return not self.problems

    def summary(self) -> str:
        """One line: what was looked at, and the verdict."""
        looked = ", ".join(f"{name} {count}" for name, count in self.counted.items())
        warnings = sum(each.first.warning for each in self.repeated)
        problems = len(self.repeated) - warnings
        verdict = f"{problems} problem{'s' if problems > 1 else ''}" if problems else "all well"
        if warnings:
            verdict += f", {warnings} {'warning' if warnings == 1 else 'warnings'}"
        return f"{', '.join(self.subjects)}: {verdict} (looked at: {looked})"
