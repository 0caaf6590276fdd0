"""Flows in time: sharing, waiting, repetition."""

from __future__ import annotations

import numpy as np
import pytest

from trnbench_emulator.clock import TICKS_PER_SECOND, ticks
from trnbench_emulator.fabric.flow import Flow
from trnbench_emulator.fabric.fluid import simulate


def flow(size: float, *resources: int, **rest: object) -> Flow:
    return Flow(size, np.array(resources, dtype=np.intp), np.ones(len(resources)), **rest)  # type: ignore[arg-type]


def test_a_flow_takes_its_bytes_over_the_bandwidth_plus_latency() -> None:
    outcome = simulate([flow(100.0, 0, latency=7, before=3)], np.array([50.0]))
    assert outcome.total == 2 * TICKS_PER_SECOND + 10


def test_the_longer_flow_speeds_up_when_the_shorter_one_ends() -> None:
    # Both share 10 B/s: the short one ends after 2 s; the other then has 10 bytes left at 10 B/s.
    outcome = simulate([flow(10.0, 0), flow(20.0, 0)], np.array([10.0]))
    assert [a / TICKS_PER_SECOND for a in outcome.arrival] == [2.0, 3.0]


def test_a_flow_waits_for_what_it_needs() -> None:
    outcome = simulate(
        [flow(10.0, 0, latency=5), flow(10.0, 1, after=(0,), before=2)], np.array([10.0, 10.0])
    )
    assert outcome.arrival == [TICKS_PER_SECOND + 5, 2 * TICKS_PER_SECOND + 7]


def test_repetitions_follow_each_other() -> None:
    outcome = simulate([flow(10.0, 0, latency=4, before=1, times=3)], np.array([10.0]))
    assert outcome.total == 3 * (TICKS_PER_SECOND + 5)
    assert outcome.carried.tolist() == [30.0]


def test_nothing_to_carry_still_takes_the_latency() -> None:
    assert simulate([flow(0.0, 0, latency=9)], np.array([1.0])).total == 9


def test_a_flow_that_can_never_end_is_an_error() -> None:
    with pytest.raises(ValueError, match="1 flows can never end: a link without bandwidth, or a circle"):
        simulate([flow(1.0, 0)], np.array([0.0]))


def test_half_ticks_round_up_whichever_way_the_last_bit_falls() -> None:
    half = 1.5 / TICKS_PER_SECOND
    assert {ticks(half), ticks(np.nextafter(half, 0)), ticks(np.nextafter(half, 1))} == {2}
