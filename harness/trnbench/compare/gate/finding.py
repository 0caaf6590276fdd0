"""What a gate found: of each case whether a rule holds, and what breaks it."""

from __future__ import annotations

from enum import Enum

import msgspec

from trnbench.compare.change import Change, Comparison
from trnbench.errors import ExitCode


class Outcome(str, Enum):
    BROKEN = "broken"
    INCONCLUSIVE = "inconclusive"
    PASSED = "passed"

    def __str__(self) -> str:
        return self.value


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """`kind`: "slower", "faster", "metric", "failure", "missing", "refused", "peak", "age", or "" for what
    passed. `what` is the sentence: the value, its interval and the rule's limit. `causes` likeliest first."""

    outcome: Outcome
    rule: str
    id: str = ""  # of the case; "" where a rule speaks of the whole
    kernel: str = ""
    system: str = ""
    kind: str = ""
    what: str = ""
    causes: tuple[str, ...] = ()
    change: Change | None = None


class Gated(msgspec.Struct, frozen=True, kw_only=True):
    """`findings`: what is broken first, then what is inconclusive, then what passed."""

    comparison: Comparison
    findings: tuple[Finding, ...]
    strict: bool = False

    def of(self, outcome: Outcome) -> tuple[Finding, ...]:
        """The findings of one outcome."""
        return tuple(each for each in self.findings if each.outcome is outcome)

    @property
    def passed(self) -> bool:
        """Nothing is broken; with `strict` nothing inconclusive either."""
        bad = (Outcome.BROKEN, Outcome.INCONCLUSIVE) if self.strict else (Outcome.BROKEN,)
        return not any(each.outcome in bad for each in self.findings)

    def exit_code(self) -> ExitCode:
        """0 or 1."""
        return ExitCode.OK if self.passed else ExitCode.GATE
