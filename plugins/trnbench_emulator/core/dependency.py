"""What an instruction waits for; a program and a core keep it packed, for their innermost loops."""

from __future__ import annotations

from typing import NamedTuple


class Dep(NamedTuple):
    """The instruction that is waited for, and why: one of RAW, WAR, WAW and BUFFER."""

    source: int
    kind: int

    @classmethod
    def of(cls, packed: int) -> Dep:
        """From an entry of `Program.deps`, or a `Schedule.cause` that is none of the negative ones."""
        return cls(packed >> 2, packed & 3)
