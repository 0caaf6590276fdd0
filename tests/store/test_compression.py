"""Documents of every length come back, and a small window costs none of what zlib would find."""

from __future__ import annotations

import random
import zlib

import pytest

from trnbench.store.compression import compressed


@pytest.mark.parametrize("level", [1, 6])
@pytest.mark.parametrize("length", [0, 1, 249, 250, 3_834, 3_835, 40_000, 120_000])
def test_a_small_window_loses_nothing(length: int, level: int) -> None:
    drawn = random.Random(length)
    words = [bytes(drawn.choices(b"abcdef0123456789", k=9)) for _ in range(60)]
    document = b"".join(drawn.choice(words) for _ in range(length // 9 + 1))[:length]
    packed = compressed(document, level)
    assert zlib.decompress(packed) == document
    assert len(packed) <= 1.02 * len(zlib.compress(document, level)) + 16
