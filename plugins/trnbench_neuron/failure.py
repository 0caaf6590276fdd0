"""What goes wrong in the stack, as the reasons a case can fail for."""

from __future__ import annotations

from trnbench.backend import Observation
from trnbench.errors import TrnbenchError
from trnbench.results.measurement import Evidence, Reason
from trnbench_neuron.tool import ToolError, Trouble

_MEMORY = ("out of memory", "NRT_RESOURCE", "Allocation failed", "failed to allocate", "MemoryError")
_UNSEEN = ("no device execution events", "No device execution events")


class NoEvidence(TrnbenchError):
    """A number is there, but nothing proves that the device made it."""


class WrongResult(TrnbenchError):
    """The device ran, and what it computed is not what was asked."""


class OverTime(TrnbenchError):
    """Held up for longer than a case may take."""


def reason_of(error: TrnbenchError) -> Reason:
    """The reason that `error` makes a case fail for."""
    if isinstance(error, NoEvidence):
        return Reason.NO_EVIDENCE
    if isinstance(error, WrongResult):
        return Reason.WRONG_RESULT
    if isinstance(error, OverTime):
        return Reason.TIMEOUT
    text = f"{error.what} {error.cause}"
    if any(word in text for word in _MEMORY):
        return Reason.OUT_OF_MEMORY
    if any(word in text for word in _UNSEEN):
        return Reason.NO_EVIDENCE
    if isinstance(error, ToolError):
        if error.trouble is Trouble.TIMEOUT:
            return Reason.TIMEOUT
        if error.trouble is Trouble.KILLED:
            return Reason.CRASH
    return Reason.ERROR


def failed(error: TrnbenchError, evidence: Evidence, implementation: str = "") -> Observation:
    """The observation of a case that `error` ended."""
    return Observation(
        evidence=evidence,
        clock="",
        implementation=implementation,
        reason=reason_of(error),
        reason_text=f"{error.what}; {error.cause}" if error.cause else error.what,
        notes=(f"try: {error.try_}",) if error.try_ else (),
    )
