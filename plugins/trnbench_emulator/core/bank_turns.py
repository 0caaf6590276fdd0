"""Rounds of a loop and banks of PSUM: all else is the same in each, but tiles go round."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trnbench_emulator.core.program import Kinds, Loop


def come_round(kinds: Kinds, loop: Loop, most: int) -> int:
    """After how many rounds, `most` at most, they use the same banks again, as far as they ever do."""
    if not any(kinds.banks):
        return 1
    turns = kinds.turns.get(loop)
    if turns is None:
        rounds = _rounds(kinds, loop)
        lags = range(1, min(most, loop.count // 2) + 1)
        unlike = [int((rounds[lag:] != rounds[:-lag]).any(1).sum()) for lag in lags]
        turns = kinds.turns[loop] = 1 + unlike.index(min(unlike))
    return turns


def other_banks(kinds: Kinds, loop: Loop) -> list[int]:
    """Rounds that use other banks than the round before, in order."""
    if not any(kinds.banks):
        return []
    others = kinds.others.get(loop)
    if others is None:
        rounds = _rounds(kinds, loop)
        others = kinds.others[loop] = (np.flatnonzero((rounds[1:] != rounds[:-1]).any(1)) + 1).tolist()
    return others


def _rounds(kinds: Kinds, loop: Loop) -> npt.NDArray[Any]:
    size = loop.count * loop.length
    return np.frombuffer(kinds.op, np.uint32, size, 4 * loop.begin).reshape(loop.count, loop.length)
