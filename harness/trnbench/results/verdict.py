"""What became of a case from one run to another, in one word that every output uses."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from trnbench.results.measurement import Grade, Status

GOOD = (Status.OK, Status.DOCUMENT_LOW)
BAD = (Status.FAILED, Status.SUSPECT)


class Verdict(str, Enum):
    """In the order in which people are told."""

    BROKEN = "broken"  # it failed or is suspect, and was neither before
    LOST = "lost"  # it ran before, and is skipped or not there
    SLOWER = "slower"
    EVIDENCE = "evidence changed"  # other grade, or another model gave another number
    MENDED = "mended"  # it failed or was suspect, and passes
    FASTER = "faster"
    NEW = "new"  # it runs, and was skipped or not there before
    UNKNOWN = "cannot be told"
    SAME = "no difference shown"

    def __str__(self) -> str:
        return self.value

    @property
    def changed(self) -> bool:
        """Whether something is known to have changed."""
        return self not in (Verdict.UNKNOWN, Verdict.SAME)


class Standing(NamedTuple):
    """A case in one run, without its number."""

    status: Status
    grade: Grade


def verdict_of(before: Standing | None, after: Standing | None, moved: Verdict = Verdict.SAME) -> Verdict:
    """The name of what became of a case; None where the run does not have it.

    `moved` is what its numbers alone say; it counts where both runs have one to rely on.
    """
    ran = [each is not None and each.status is not Status.SKIPPED for each in (before, after)]
    if before is None or after is None or not all(ran):
        return Verdict.SAME if ran[0] is ran[1] else Verdict.NEW if ran[1] else Verdict.LOST
    if after.status in BAD:
        return Verdict.UNKNOWN if before.status in BAD else Verdict.BROKEN
    if before.status in BAD:
        return Verdict.MENDED if after.status in GOOD else Verdict.UNKNOWN
    if before.grade is not after.grade:
        return Verdict.EVIDENCE
    return moved if after.status in GOOD and before.status in GOOD else Verdict.UNKNOWN
