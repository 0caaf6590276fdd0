"""The recording in progress: what the calls of a kernel and its tensors see of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from trnbench_emulator.nki.machine import Machine


class Recording(Protocol):
    """`count` instructions were issued, by program `program`.

    `careful`: every operand is looked at, so that last uses are known. `indirect`: any tensor was addressed
    at run time so far. `shadow`: the `Shadow` of the launch, if any.
    """

    machine: Machine
    program: int
    count: int
    careful: bool
    indirect: bool
    shadow: Any


class _State(msgspec.Struct):
    recorder: Any = None  # a `Recorder`; what it is made of knows it as a `Recording`
    place: tuple[str, int] | None = None  # file and line of a call that is carried out later
    files: int = 0  # that are being executed: only then may stand-ins be used
    # What `nl.add(x, y)` and `tile[…] = value` do. The language says it, in instructions.
    apply: Callable[..., Any] | None = None
    assign: Callable[[Any, Any], None] | None = None


STATE = _State()
