"""Stores of rounds that surely wait for nobody: to a tensor that is not read, each beside the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench_emulator.core.box import Box, direct_box
from trnbench_emulator.core.hazard import ROWS, overlap
from trnbench_emulator.core.tile import Progression, Tile

if TYPE_CHECKING:
    from trnbench_emulator.core.period import Place

_SIDES = 4  # of a box of rows and bytes
_FEW = 3  # periods: fewer are followed one by one
_BOXES = 48  # of a group of rows: so few are never drawn together
_BESIDE = 16  # as many, beside boxes that touch each other: drawn together, these hold nothing else


def stores_of(
    begin: int, length: int, tile: Tile, places: list[Place], times: int
) -> tuple[Tile, Progression] | None:
    """The writes to a tile in `times` periods after the one that began at instruction `begin`; None where one
    might have to wait for another, or for anybody before. They need not be among the boxes of their tile
    until that is used otherwise."""
    (access, number, offset, step, _), *more = places
    read = any(area.reads for area in tile.areas.values())
    if not access.write or more or read or times < _FEW:
        return None
    boxes = [direct_box(access.form, access.root, offset + turn * step) for turn in (1, 2, times)]
    if len(boxes[0]) > _SIDES or not _lined_up(boxes, times - 1):
        return None
    hull = tuple((max if side % 2 else min)(ends) for side, ends in enumerate(zip(*boxes, strict=True)))
    written = [area.writes for group, area in tile.areas.items() if _within(group, hull)]
    if any(overlap(box, hull) for writes in written for box, _ in writes):
        return None
    before = max(map(len, written), default=0)
    rows, columns = boxes[0][1] - boxes[0][0], boxes[0][3] - boxes[0][2]
    down, along = abs(boxes[1][0] - boxes[0][0]), abs(boxes[1][2] - boxes[0][2])
    touching = (down, along) in ((rows, 0), (0, columns))
    most = (ROWS + rows) // down + 1 if down else times
    if before + most > _BOXES and not (touching and before <= _BESIDE):
        return None
    each = (number - begin, access.queue, access.form, access.root, offset, step)
    return tile, Progression(begin, length, 1, times, (each,))


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
