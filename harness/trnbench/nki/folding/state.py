"""What the names of a kernel hold between two rounds of a loop, in a form that can be compared."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from trnbench.nki.folding.index import Index, Watched
from trnbench.nki.folding.source import Plan
from trnbench.nki.tensor import NkiTensor

State = tuple[Any, ...]

_MISSING = ("no value",)
_PLAIN = (int, float, str, bytes, bool, type(None))


def state_of(plan: Plan, frame: FrameType, loop: Watched, number: int) -> State:
    """Of the names that may be carried from round to round, after `number` rounds of `loop`.

    Equal before and after a period when the next period starts from the same; numbers that move with the
    loop are compared without what it has added. Tiles only by their layout: whether they were used is seen
    from the instructions.
    """
    if not plan.carried and not plan.grown:
        return ()
    held = frame.f_locals
    found = [_told(held.get(name, _MISSING), loop, number) for name in (*plan.carried, *plan.grown)]
    if sys.version_info < (3, 13):
        held.clear()  # a copy, which would keep tiles alive
    return tuple(found)


def _told(value: Any, loop: Watched, number: int) -> Any:
    if type(value) in _PLAIN:
        return (type(value), value)
    if isinstance(value, NkiTensor):
        return ("tile", value.form, type(value))
    if isinstance(value, Index):
        moved = value.value - value.slopes.get(loop, 0) * number
        return ("index", moved, tuple((id(each), slope) for each, slope in value.slopes.items() if each.open))
    if isinstance(value, (list, tuple)):
        return (type(value), id(value) if isinstance(value, list) else 0, tuple(map(_one, value)))
    return ("object", id(value))


def _one(value: Any) -> Any:
    """A list's element: the same one, or not."""
    if isinstance(value, NkiTensor):
        return (value.storage.life, value.form, value.offset)
    return (type(value), value) if type(value) in _PLAIN else ("object", id(value))
