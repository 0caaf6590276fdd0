"""Ticks and seconds: which way each rounding goes, and that one undoes the other."""

from __future__ import annotations

import pytest

from trnbench_emulator.clock import TICKS_PER_SECOND, TICKS_PER_US, seconds, ticks, ticks_up


@pytest.mark.parametrize(
    ("picoseconds", "nearest", "up"),
    [
        (0.0, 0, 0),
        (0.49, 0, 1),
        (0.5, 1, 1),
        (1.5, 2, 2),
        (2.5, 3, 3),
        (714.2857, 714, 715),
        (1400.0, 1400, 1400),
        (1400.0001, 1400, 1400),
        (1400.001, 1400, 1401),
    ],
)
def test_a_time_is_rounded_to_the_nearest_tick_and_work_is_rounded_up(
    picoseconds: float, nearest: int, up: int
) -> None:
    assert ticks(picoseconds * 1e-12) == nearest
    assert ticks_up(picoseconds * 1e-12) == up


@pytest.mark.parametrize("stated_ns", [0.1, 0.3, 1.4, 2.3, 153.0, 1500.0, 1e6])
def test_a_stated_time_is_a_whole_number_of_ticks_either_way(stated_ns: float) -> None:
    assert ticks(stated_ns * 1e-9) == ticks_up(stated_ns * 1e-9) == round(stated_ns * 1000)


def test_ticks_are_undone() -> None:
    assert seconds(TICKS_PER_SECOND) == 1.0
    assert seconds(TICKS_PER_US) == 1e-6
    assert all(ticks(seconds(count)) == ticks_up(seconds(count)) == count for count in (1, 7, 12_345, 10**15))
