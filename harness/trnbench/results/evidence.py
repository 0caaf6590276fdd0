"""What stands behind a number. Part of every number, from the store to the last report cell."""

from __future__ import annotations

from enum import Enum

import msgspec

from trnbench.results.nearness import Nearest


class Grade(str, Enum):
    MEASURED = "measured"  # on the device named
    EMULATED = "emulated"  # by the model and version named
    DOCUMENTED = "documented"  # printed in the source named
    PUBLISHED = "published"  # measured by others, source named
    DERIVED = "derived"  # by the formula named

    def __str__(self) -> str:
        return self.value

    @property
    def letter(self) -> str:
        """One letter for dense tables: M, E, D, P, F (formula)."""
        return {"measured": "M", "emulated": "E", "documented": "D", "published": "P"}.get(self.value, "F")


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    grade: Grade
    by: str  # device name, model name, source id or formula
    version: str = ""  # of the model or the software stack
    note: str = ""
    nearest: Nearest | None = None  # of an emulated number: the nearest published evidence and its band
