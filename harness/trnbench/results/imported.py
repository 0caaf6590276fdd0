"""What a reader of another tool's file found: times, and what the file says of them."""

from __future__ import annotations

from typing import Any

import msgspec

from trnbench.results.measurement import Value


class ImportedCase(msgspec.Struct, frozen=True, kw_only=True):
    """One result. Empty where the file does not say: the user is asked for it.

    `kernel` and `point` are ours; one that is no kernel of ours keeps its name and is held against nothing.
    `rate_factor` is busbw / algbw as printed, which tells the ranks where nothing else does. `wrong`: values
    that the tool found wrong, None where it did not look. `grade` is set where the file is one of our own.
    """

    kernel: str = ""
    point: dict[str, Value] = {}
    time_s: float
    samples: tuple[float, ...] = ()
    instance: str = ""
    scope: str = ""
    ranks: int = 0
    rate_factor: float | None = None
    wrong: int | None = None
    grade: str = ""
    notes: tuple[str, ...] = ()


class ImportedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one file. `created` in UTC, ISO 8601, where the file says when it was made; `by` is the
    tool, with its version where that is told."""

    cases: tuple[ImportedCase, ...]
    by: str
    created: str = ""
    environment: dict[str, Any] = {}
