"""What draws an emulated case of a stored run again: its timeline, and the ends of what it assumes."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from trnbench.errors import UsageError
from trnbench.extension import Trace
from trnbench.lazy import Ref


class TraceFile(NamedTuple):
    """A file for trace viewers. `time_s` is what the case takes now, `note` what was left out, or ""."""

    data: bytes
    slices: int
    time_s: float
    note: str = ""


class AssumptionEnd(Protocol):
    """An assumption at one end of its range: figures in base units of `unit`, the time in seconds."""

    name: str
    taken: float
    value: float
    unit: str
    time_s: float
    ratio: float
    reason: str


def check_drawn(trace: Trace | None, part: str, backend: str, case: str) -> Ref:
    """The reference of `part`, "timeline" or "assumptions". Raises `UsageError` where nobody gives it."""
    reference: Ref = getattr(trace, part) if trace is not None else ""
    if not reference:
        raise UsageError(
            f"{case} has no {part}",
            cause=f"it was made by the backend {backend!r}, and no plugin that is installed draws its cases",
            try_="trnbench plugin list",
        )
    return reference
