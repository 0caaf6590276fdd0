"""Stores of rounds that surely wait for nobody: to a tensor that is not read, each beside the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.emulator.core.box import Box, direct_box
from trnbench.emulator.core.hazard import ROWS, overlap
from trnbench.emulator.core.tile import Progression, Tile

if TYPE_CHECKING:
    from trnbench.emulator.core.access import Access
    from trnbench.emulator.core.pattern import Pattern

_SIDES = 4  # of a box of rows and bytes
_BOXES = 48  # of a group of rows: so few are never drawn together
_BESIDE = 16  # as many, beside boxes that touch each other: drawn together, these hold nothing else


def store_of(
    found: Pattern, entry: tuple[int, int, Access, int], first: int, last: int
) -> tuple[Tile, Progression] | None:
    """The writes of `entry` in periods `first` to `last`; None where one might have to wait for another, or
    for anybody before. They need not be among the boxes of their tile until that is used otherwise."""
    at, queue, access, step = entry
    tile = access.tile
    alone = sum(other.tile is tile for _, _, other, _ in found.accesses) == 1
    read = any(area.reads for area in tile.areas.values())
    if not access.write or not alone or read or tile.stores is not None or last - first < 2:
        return None
    boxes = [
        direct_box(access.form, access.root, access.offset + turn * step) for turn in (first, first + 1, last)
    ]
    if len(boxes[0]) > _SIDES or not _lined_up(boxes, last - first):
        return None
    hull = tuple((max if side % 2 else min)(ends) for side, ends in enumerate(zip(*boxes, strict=True)))
    written = [area.writes for group, area in tile.areas.items() if _within(group, hull)]
    if any(overlap(box, hull) for writes in written for box, _ in writes):
        return None
    before = max(map(len, written), default=0)
    rows, columns = boxes[0][1] - boxes[0][0], boxes[0][3] - boxes[0][2]
    down, along = abs(boxes[1][0] - boxes[0][0]), abs(boxes[1][2] - boxes[0][2])
    touching = (down, along) in ((rows, 0), (0, columns))
    most = (ROWS + rows) // down + 1 if down else last - first + 1
    if before + most > _BOXES and not (touching and before <= _BESIDE):
        return None
    each = (at, queue, access.form, access.root, access.offset, step)
    return tile, Progression(found.begin, found.length, first, last, (each,))


def _lined_up(boxes: list[Box], turns: int) -> bool:
    """Are they of one size, as far from each other as the first two, and are no two of them in one place?"""
    one, two, last = boxes
    steps = [b - a for a, b in zip(one, two, strict=True)]
    if steps[0] != steps[1] or steps[2] != steps[3]:
        return False
    if any(c - a != turns * step for a, c, step in zip(one, last, steps, strict=True)):
        return False
    return abs(steps[0]) >= one[1] - one[0] or abs(steps[2]) >= one[3] - one[2]


def _within(group: int, hull: Box) -> bool:
    """Are rows of the hull in this group?"""
    return hull[0] < (group + 1) * ROWS and group * ROWS < hull[1]
