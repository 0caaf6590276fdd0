"""A stored run in one line."""

from __future__ import annotations

import msgspec

from trnbench.results.evidence import Grade
from trnbench.results.measurement import Status


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What `runs list` shows, read from columns alone."""

    id: str
    created: str
    finished: str
    interrupted: bool
    tool_version: str
    backend: str
    grade: Grade
    policy: str
    planned: int
    cases: int
    counts: dict[Status, int]
    instances: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """ "done", "interrupted" (it ended early and said so) or "unfinished" (running, or killed)."""
        if not self.finished:
            return "unfinished"
        return "interrupted" if self.interrupted else "done"
