"""Which recording the calls of a kernel belong to. One per process: runs are parallel by process."""

from __future__ import annotations

from typing import Any


class _State:
    __slots__ = ("place", "recorder", "watching")

    def __init__(self) -> None:
        self.recorder: Any = None  # a `Recorder`; what it is made of knows it as a `Recording`
        self.place: tuple[str, int] | None = None  # file and line of a call that is carried out later
        self.watching = 0  # loops whose numbers are `Index`es


STATE = _State()
