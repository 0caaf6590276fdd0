"""A rhythm is only one where all flows keep it at the same time: else they have yet to meet."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step
from trnbench_emulator.fabric.solve import solve

TIMES = 200
SIZE = 1e6


def two_streams(later: float, repeated: tuple[int, ...]) -> Schedule:
    """From rank 0 to rank 1 twice, message by message; the second stream after `later` bytes to rank 7.

    `repeated`: how often each of the equal steps is done that make up a stream.
    """
    messages = tuple(Step(moves=(Move(size=SIZE, pairs=((0, 1),)),), times=times) for times in repeated)
    before = Step(moves=(Move(size=later, pairs=((0, 7),)),))
    return Schedule(algorithm="two streams", chains=(messages, (before, *messages)))


@pytest.mark.parametrize("messages", [0, 10, 100, 150, 300])
def test_streams_that_meet_after_each_found_its_own_rhythm_share_the_link(
    torus: Callable[..., Network], messages: int
) -> None:
    """Whether it is told as one long step or as many short ones, none of which is looked at for a rhythm."""
    later = max(messages * SIZE, 1.0)
    network = torus(8)
    long = solve(network, two_streams(later, (TIMES,)))
    short = solve(network, two_streams(later, (50,) * (TIMES // 50)))
    assert long.total_ticks == pytest.approx(short.total_ticks, rel=1e-9)
    assert long.ends == pytest.approx(short.ends, rel=1e-9)
