"""Where in the kernel's own source a call was made."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import CodeType, FrameType, TracebackType

from trnbench_emulator.nki.recording import STATE

_HERE = str(Path(__file__).parent)

Place = tuple[str, int]
"""File and line."""

NOWHERE: Place = ("", 0)


def inside(name: str) -> bool:
    """Is a file of this name one of this package?"""
    return name.startswith(_HERE)


def hidden(frame: FrameType) -> bool:
    """Are the lines of a frame those of its caller: this package's, and of files with `__tracebackhide__`?"""
    return inside(frame.f_code.co_filename) or bool(frame.f_globals.get("__tracebackhide__"))


class Places:
    """Where calls were made: looked up once per instruction of the kernel's code, because Python counts its
    way to a line. `code` is the one that called last, `lines` what is known of it.
    """

    __slots__ = ("_known", "code", "lines")

    def __init__(self) -> None:
        # By id, which is faster than the hash of a code object. None: the code's lines are its caller's.
        self._known: dict[int, tuple[CodeType, dict[int, Place] | None]] = {}
        self.code: CodeType | None = None
        self.lines: dict[int, Place] = {}

    def of(self, frame: FrameType) -> Place:
        """Of the nearest frame that is not hidden, from `frame` on."""
        while (code := frame.f_code) is not self.code:
            entry = self._known.get(id(code))
            if entry is None:
                entry = self._known[id(code)] = (code, None if hidden(frame) else {})
            lines, before = entry[1], frame.f_back
            if lines is None and before is not None:
                frame = before
            else:
                self.code, self.lines = code, {} if lines is None else lines
        place = self.lines.get(frame.f_lasti)
        if place is None:
            place = self.lines[frame.f_lasti] = (frame.f_code.co_filename, frame.f_lineno)
        return place


def here() -> str:
    """`gemm.py:31`: file and line of the kernel's call; of a helper's, also where the helper was called."""
    if STATE.place is not None:
        return told(STATE.place)
    frame = sys._getframe(1)  # the nearest that is not hidden is the kernel's
    while hidden(frame) and frame.f_back is not None:
        frame = frame.f_back
    places = [(frame.f_code.co_filename, frame.f_lineno)]
    above = frame.f_back if STATE.recorder is not None else None
    while above is not None and not _starts(above) and len(places) < 2:
        if not hidden(above):
            places.append((above.f_code.co_filename, above.f_lineno))
        above = above.f_back
    return _nested(places)


def _starts(frame: FrameType) -> bool:
    """Is it here that a kernel is called?"""
    return frame.f_code.co_name == "_call" and frame.f_code.co_filename == _TRACE


_TRACE = str(Path(__file__).with_name("trace.py"))


def _nested(places: list[Place]) -> str:
    """`tiles.py:12, called at gemm.py:31`: the innermost place, and the one around it."""
    return ", called at ".join(dict.fromkeys(map(told, places)))


def of_failure(trace: TracebackType | None) -> str:
    """Where the user's code failed: its innermost line outside of Python and installed packages, and the one
    that called it; "" where there is none."""
    places: list[Place] = []
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not (hidden(trace.tb_frame) or "site-packages" in name or name.startswith((_PYTHON, "<"))):
            places.insert(0, (name, trace.tb_lineno))
        trace = trace.tb_next
    return _nested(places[:2])


_PYTHON = str(Path(traceback.__file__).parent)


def told(place: Place) -> str:
    """`gemm.py:31`."""
    return f"{Path(place[0]).name}:{place[1]}"


def of_error(trace: TracebackType | None, inside: str = "") -> str:
    """`gemm.py:31`: the innermost line of `inside` (else of anything not this package) in a traceback."""
    line = ""
    # Python knows a file by its whole path, however it was named.
    wanted = {inside, str(Path(inside).absolute())} if inside else set()
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name in wanted or (not inside and not name.startswith(_HERE)):
            line = told((name, trace.tb_lineno))
        trace = trace.tb_next
    return line
