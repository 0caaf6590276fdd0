"""Stored runs, each in one line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from trnbench.results.evidence import Grade
from trnbench.results.measurement import Status

if TYPE_CHECKING:
    import sqlite3


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


def summaries(connection: sqlite3.Connection) -> tuple[RunSummary, ...]:
    """Every run, oldest first; no document is read."""
    counts: dict[int, dict[Status, int]] = {}
    for number, status, cases in connection.execute(
        "SELECT run, status, count(*) FROM measurements GROUP BY run, status"
    ):
        counts.setdefault(number, {})[Status(status)] = cases
    instances = _grouped(
        connection.execute(
            "SELECT run, instance FROM measurements GROUP BY run, instance ORDER BY min(position)"
        )
    )
    tags = _grouped(connection.execute("SELECT run, tag FROM tags ORDER BY tag"))
    return tuple(
        RunSummary(
            id=run_id,
            created=created,
            finished=finished,
            interrupted=bool(interrupted),
            tool_version=tool_version,
            backend=backend,
            grade=Grade(grade),
            policy=policy,
            planned=planned,
            cases=sum(counts.get(number, {}).values()),
            counts={status: counts.get(number, {}).get(status, 0) for status in Status},
            instances=instances.get(number, ()),
            tags=tags.get(number, ()),
        )
        for (
            number,
            run_id,
            created,
            finished,
            interrupted,
            tool_version,
            backend,
            grade,
            policy,
            planned,
        ) in connection.execute(
            "SELECT number, id, created, finished, interrupted, tool_version, backend, grade, policy,"
            " planned FROM runs ORDER BY number"
        )
    )


def _grouped(rows: Iterable[tuple[int, str]]) -> dict[int, tuple[str, ...]]:
    groups: dict[int, tuple[str, ...]] = {}
    for number, name in rows:
        groups[number] = (*groups.get(number, ()), name)
    return groups
