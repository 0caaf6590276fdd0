"""Where in the kernel's own source a call was made."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType, TracebackType

from trnbench.nki.recorder_state import STATE

_HERE = str(Path(__file__).parent)


def caller(depth: int = 1) -> FrameType:
    """The nearest frame outside this package: the kernel's."""
    frame = sys._getframe(depth)
    while frame.f_code.co_filename.startswith(_HERE) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def here(depth: int = 1) -> str:
    """`gemm.py:31`: file and line of the kernel's call."""
    if STATE.place is not None:
        return f"{Path(STATE.place[0]).name}:{STATE.place[1]}"
    frame = caller(depth + 1)
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def of_error(trace: TracebackType | None, inside: str = "") -> str:
    """`gemm.py:31`: the innermost line of `inside` (else of anything not this package) in a traceback."""
    found = ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name == inside or (not inside and not name.startswith(_HERE)):
            found = f"{Path(name).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found
